import ArgumentParser
import DownloadModel

struct GetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    // Parsed alone (`CommandLineParse`), a command without a parent would be searched for the parser's own option for
    // completion scripts, which takes a quarter of the time.
    _superCommandName: "dlm", abstract: "Download lists of files.",
    discussion: """
      EXAMPLES
        dlm get urls.txt                                 a list, into this folder
        dlm get urls.txt -d data --failed again.txt      into data; lists failures
        dlm get -o disk.iso https://example.org/a.iso    one file, by this name
        dlm get --accept '*.pdf' https://example.org/    the matching links of a page
        dlm get --mode sequential                        the last list, compared
        dlm get urls.txt --detach                        goes on without this terminal

      A SOURCE is a list file, - for standard input, or a URL. Without one, dlm takes the last list of this folder \
      again, with that run's options; options given now win, and secrets (-H, logins) must be given again.

      A list has a URL on each line; a line that starts with # is a comment. After the URL and a tab, a line may have \
      first=yes, size=BYTES, out=NAME, dir=FOLDER, sha256=HEX, expect=TYPE, header=LINE and mirror=URL.

      A second run downloads only what has changed; an interrupted one resumes. Incomplete files end in .part.

      If the last run succeeded in another mode, a run without a SOURCE downloads everything again into a scratch \
      folder, compares it with your files, deletes it, and says how the two modes compare. Your files do not change. \
      --no-compare downloads only what is missing or has changed.

      With --watch the run follows its lists until Ctrl-C: it downloads new lines, cancels removed ones (a complete \
      file stays), and starts changed ones over. It ends with 130 or 143 only if something was still in progress.

      MODES
        sequential   one file at a time over one connection, never split
        async-let    lanes made with async let, which share the list
        parallel     one task per file in a task group (default; also: task-group)
        auto         like parallel; adapts --jobs to the list, and says why

      KEYS, while progress bars are shown (--no-keys turns them off)
        ? d f      show keys, details, failures
        p q b      pause or resume; stop and save partial files; go on in the background
        + -        files at once
        up, down   select; s skips what is selected
        paste      a pasted URL joins the run, after a question

      EXIT STATUS
        0    every file is complete and correct
        1    something failed for good, or differs from what it was compared with
        64   usage
        66   a source cannot be read
        73   the folder or an output file cannot be made
        74   the disk is full or broken, or output cannot be written
        75   only temporary failures, or files skipped by key
        129, 130, 143   hung up, interrupted, terminated; partial files are saved
        141  the reader of standard output has gone

      FILES
        ./.dlm.conf                         settings for one folder; how dlm works, not whom it trusts
        $XDG_CONFIG_HOME/dlm/dlm.conf       your settings (~/.config/dlm)
        $XDG_CACHE_HOME/dlm                 the cache (~/.cache/dlm)
        $XDG_STATE_HOME/dlm                 each folder's last list (~/.local/state/dlm)
        *.part                              incomplete files, beside the complete ones

      ENVIRONMENT
        DLM_…                        any setting: DLM_JOBS for --jobs; dlm config shows all
        DLM_CERT_PASSPHRASE          the pass phrase of --cert
        http_proxy, https_proxy, all_proxy, no_proxy    as in curl
        CURL_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR     trusted authorities, without --cacert
        NO_COLOR, CLICOLOR_FORCE, TERM, CI              how progress is shown
        TMPDIR                                          scratch files
      """)

  @Argument(help: .value("source", "A list file, - for standard input, or a URL."), completion: .file())
  var sources: [String] = []

  @OptionGroup var own: GetOptions
  @OptionGroup var lists: ListOptions
  @OptionGroup var shared: RunOptions

  /// The names of the options that may have values; `nil` for any.
  var given: Set<String>?

  /// The number of the ended run that it goes on with.
  var resumed: Int?

  private enum CodingKeys: CodingKey { case sources, own, lists, shared }

  /// Those of the options that may have values. Reading all would take a tenth of a small file's time.
  var rows: [OptionTable.Row] { OptionTable.rows.filter { given?.contains($0.name) != false } }

  func run() async throws {
    if own.detach, !DetachedStart.isThisProcess { return try detach() }
    guard sources.isEmpty else { return try await get(again: nil, typed: self) }
    let last = try LastList(RunHistoryStore())
    try await last.command(self).get(again: last, typed: self)
  }

  private func detach() throws {
    let number = try DetachedStart.start(
      ["get"] + RememberedOptions(self).typed + ["--"] + sources, resuming: resumed)
    StandardError.say(LoginManager.warning)
    try StandardOutput.say(["run \(number) started · dlm attach \(number)"])
  }

  /// - Parameter again: `nil` if a list is named; else this command includes the remembered options, and `typed` does
  ///   not.
  private func get(again: LastList?, typed: GetCommand) async throws {
    let sources = sources.map { Source($0, isList: own.list || !lists.accept.isEmpty) }
    var settings = try Settings(self, sources, .load())
    let said = await settings.form.findHostsByLine(in: sources)
    settings.say(said)
    lazy var fetching = Wiring.listFetching(settings)
    if let place = settings.own.checksums {
      fetching.provenance = await sources.haveOrigin(of: place, settings.form) ? .user : .thirdParty
      try await settings.output.readChecksums(place, fetching)
      fetching.provenance = .user
    }
    if own.dryRun { throw try await DryRun.say(sources, settings, fetching) }
    let mayWatch = settings.own.watch || own.refreshEvery != nil
    let watch =
      mayWatch ? try WatchOrder(isAsked: own.watch, every: own.refreshEvery, settings, sources) : nil
    var plan: RepeatPlan?
    if let again {
      do {
        plan = try await RepeatPlan(
          again, sources, settings,
          noCompare: settings.own.noCompare || settings.own.detach || watch != nil || settings.output.isStandardOutput
            || settings.checksumFile != nil || settings.listFile != nil,
          fetching: fetching)
      } catch {
        settings.say(RepeatMessages.again(again, error, settings.mode))
      }
    }
    let order = DownloadOrder(
      settings: settings, sources: sources,
      folders: XDGFolders(settings.environment), store: RunHistoryStore(settings.environment), typed: typed,
      options: RememberedOptions(self), plan: plan, watching: watch)
    throw await DownloadSession.run(order)
  }
}
