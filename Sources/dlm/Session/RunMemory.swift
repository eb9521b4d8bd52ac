import ArgumentParser
import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// What one `get` remembers for the next in its folder. Remembered is a run whose list could be read and names
/// something, from its first address on, so that a killed run can be repeated by name; a list from a pipe from its end
/// on, since half of it is none. All else (a mistyped list, an empty pipe, a list that breaks off) leaves what was
/// remembered before. It only adds to what is kept, and reads nothing of it before it is asked for `times`.
final class RunMemory: Sendable {
  private let store: RunHistoryStore
  /// The run among those of its folder.
  private let run = String(UInt64.random(in: .min ... .max), radix: 36)
  private let isPiped: Bool
  private let lists: [String]
  private let log: RunLog
  /// The output folder, as the user wrote it.
  private let directory: String
  private let state: Lock<State>

  private struct State {
    var command: RunHistory.Command
    var isRemembered = false
    /// Whether it is noted that the run began.
    var isNoted = false
    /// Whether an earlier run was remembered when this one was noted; true also where that is unknown.
    var hasEarlier = true
  }

  init(
    _ store: RunHistoryStore, _ sources: [Source], _ options: RememberedOptions, _ log: RunLog,
    directory: String, mode: DownloadMode
  ) {
    (self.store, self.log, self.directory, isPiped) = (store, log, directory, sources.contains(.standardInput))
    lists = sources.compactMap(\.path).map { Self.absolute($0, store) }
    state = Lock(
      State(
        command: RunHistory.Command(
          sources: sources.compactMap { Self.name(of: $0, store) }, options: options.lasting,
          withheld: options.withheld, directory: Self.absolute(directory, store), mode: mode)))
  }

  private static func absolute(_ text: String, _ store: RunHistoryStore) -> String {
    let path = FilePath(text)
    return path.isAbsolute ? path.string : FilePath(store.folder).pushing(path).lexicallyNormalized().string
  }

  /// The SOURCE by which the next run finds the same; nil where there is none.
  static func name(of source: Source, _ store: RunHistoryStore) -> String? {
    switch source {
    case .standardInput: store.spoolPath?.string
    case .address(let text), .listAt(let text): (try? Address(text))?.key
    case .list(let path): absolute(path, store)
    }
  }

  /// Whether `dlm get` without a SOURCE would take this list again.
  var isRemembered: Bool { state.withLock { $0.isRemembered } }

  /// The list was read so far. From any thread.
  func read(_ reading: ListReader.Reading) {
    let isNew = state.withLock { state in
      guard !state.isRemembered, reading.count > 0, !isPiped || reading.isWhole && reading.isKept else { return false }
      if reading.spooledLogins { state.command.withheld.append(.addressLogins) }
      state.isRemembered = true
      return true
    }
    guard isNew, lists.allSatisfy({ access($0, R_OK) == 0 }) else { return }
    note(nil)
  }

  /// The run ended. Of one that was only to be compared, and so fetched all, only that it went through its list and
  /// brought the same changes anything, because what is here is as it was.
  /// - Returns: whether it is remembered.
  func ended(_ report: RunReport, listDigest: String, isTrial: Bool) -> Bool {
    guard isTrial ? report.isThrough && report.verdict?.isSame == true : isRemembered else { return false }
    if report.isListUnreadable {
      // It broke off after it had been taken for readable.
      if state.withLock({ $0.isNoted }) { append([.void(run: run)]) }
      return false
    }
    var past: PastRun?
    // Else its time says nothing.
    if report.isThrough {
      past = report.past(listDigest)
      past?.sources = state.withLock { $0.command.sources }
      // Where the user's own file was left under the name (`--on-conflict skip`), there is nothing to compare with.
      past?.directory = isTrial || report.tally.skipped == 0 ? Self.canonical(directory) : nil
      past?.isOfAll = isTrial
    }
    note(past)
    return true
  }

  /// How long the modes took for the run's list by now; nil if there was no run before this one.
  func times(of listDigest: String) -> RunTimes? {
    state.withLock { $0.hasEarlier } ? store.times(of: listDigest) : nil
  }

  /// Absolute and without links; nil if there is no such folder.
  static func canonical(_ directory: String) -> String? {
    guard let path = realpath(directory.isEmpty ? "." : directory, nil) else { return nil }
    defer { free(path) }
    return String(cString: path)
  }

  /// Notes that the run began, unless that is noted, and how it ended.
  private func note(_ past: PastRun?) {
    let began = state.withLock { $0.isNoted ? [] : [RunEvent.began(run: run, $0.command)] }
    let hasEarlier = append(began + (past.map { [.ended(run: run, $0)] } ?? []))
    if !began.isEmpty, let hasEarlier { state.withLock { ($0.isNoted, $0.hasEarlier) = (true, hasEarlier) } }
  }

  /// - Returns: whether anything was remembered before; nil if nothing could be added.
  @discardableResult
  private func append(_ events: [RunEvent]) -> Bool? {
    do throws(Errno) { return try store.append(events) } catch {
      log.historyNotSaved(error)
      return nil
    }
  }
}

/// The sources of a command that names none: the last list that a `get` in this folder used. Never standard input:
/// under cron, in a script or with a closed descriptor nothing comes from there, and a list from a pipe must be named
/// `-`.
struct LastList {
  let history: RunHistory
  let store: RunHistoryStore
  private let spoolPath: String?

  /// - Throws: `ValidationError` where nothing is remembered.
  init(_ store: RunHistoryStore) throws {
    guard let history = store.load(), !history.command.sources.isEmpty else {
      StandardError.say([store.warning].compactMap(\.self))
      throw ValidationError(UsageMessages.nothingRemembered)
    }
    spoolPath = store.spoolPath?.string
    if let path = store.spoolPath, history.command.sources.contains(path.string),
      OwnFiles.bytes(of: path, upTo: 0).isEmpty
    {
      throw ValidationError(UsageMessages.pipedListGone)
    }
    (self.history, self.store) = (history, store)
  }

  /// The run again, as if what is remembered had been typed before what is typed now.
  /// - Throws: `ValidationError` that says what has to be given again.
  func command(_ now: GetCommand) throws -> GetCommand {
    var command: GetCommand
    do { command = try GetCommand.parse(history.command.options + RememberedOptions(now).typed) } catch {
      throw ValidationError(UsageMessages.optionsDoNotFit(GetCommand.message(for: error)))
    }
    command.sources = history.command.sources
    try requireWithheld(command.connection)
    return command
  }

  /// - Throws: `ValidationError` that says what has to be given again.
  func requireWithheld(_ given: ConnectionOptions) throws {
    let names = try HeaderArgument.lines(of: given.header).map {
      HeaderArgument(argument: $0).name.lowercased()
    }
    let missing = history.command.withheld.filter { withheld in
      switch withheld {
      case .header(let name): !names.contains(name.lowercased())
      case .proxy: given.proxy == nil
      case .addressLogins: given.netrcFile == nil
      }
    }
    guard missing.isEmpty else { throw ValidationError(UsageMessages.withheld(missing)) }
  }

  /// For messages: paths of this folder as the user typed them.
  var names: String {
    history.command.sources.map {
      $0 == spoolPath ? UsageMessages.pipedList : CommandLineText.quoted($0, from: history.folder)
    }.joined(separator: " ")
  }
}

/// Keeps a list that came through a pipe, so that `dlm get` can repeat it. Addresses are kept without credentials, and
/// only this user can read them. The file gets its name only when it is whole: an empty pipe, or one that breaks off,
/// replaces nothing.
final class ListSpool {
  private let path: FilePath
  private var pending: [UInt8] = []
  private var draft: DraftFile?
  private var state = State.open
  /// Whether some of its addresses had logins.
  private(set) var hadLogins = false

  private enum State { case open, broken, kept }

  init(_ path: FilePath) { self.path = path }

  var isKept: Bool { state == .kept }

  /// The list was not read to its end, and half of it must not be taken for the whole.
  func discard() {
    guard state == .open else { return }
    state = .broken
    pending = []
    draft = nil  // which removes it
  }

  func add(_ address: Address, _ options: LineOptions?) {
    if address.hasCredentials { hadLogins = true }
    pending += address.key.utf8
    if let options { pending += options.text.utf8 }
    pending.append(0x0A)
    if pending.count > FileDescriptor.blockSize { write() }
  }

  /// The list is whole. Further calls do nothing.
  func close() {
    guard state == .open else { return }
    write(isLast: true)
    if state == .open { discard() }
  }

  /// A spool that cannot be written costs the convenience of repeating the list and nothing else, so it ends silently;
  /// the list that was remembered before stays.
  private func write(isLast: Bool = false) {
    guard state == .open else { return pending.removeAll() }
    do throws(Errno) {
      if !pending.isEmpty, draft == nil {
        try OwnFiles.makeFolder(path.removingLastComponent())
        draft = try DraftFile(for: path)
      }
      try draft?.write(pending)
      pending.removeAll(keepingCapacity: true)
      guard isLast, draft != nil else { return }
      try draft?.commit()
      state = .kept
    } catch {
      state = .broken
    }
    draft = nil
  }
}
