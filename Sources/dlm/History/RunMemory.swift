import DownloadModel
import FileReceiving
import Glibc
import RunDoors
import Synchronization
import SystemPackage
import TerminalProgress

/// The memory of one `get` for the next in its folder. It is written from the list's first URL on, so that a killed run
/// can be repeated; for a list from a pipe only at its end, because half a list is useless.
final class RunMemory: Sendable {
  private let store: RunHistoryStore
  private let run = String(UInt64.random(in: .min ... .max), radix: 36)
  private let isPiped: Bool
  /// Where its list from standard input is stored; `nil` without one.
  let spoolPath: FilePath?
  private let lists: [String]
  private let log: RunLog?
  private let directory: String
  private let openOptions: [String]
  private let state: Lock<State>

  private struct State {
    var command: RememberedCommand
    var isRemembered = false
    /// Sources that were added during the run.
    var added = 0
    /// Whether an earlier run was remembered when this one was recorded; `nil` before.
    var hasEarlier: Bool?
  }

  init(
    _ store: RunHistoryStore, _ sources: [Source], _ options: RememberedOptions, _ log: RunLog?,
    directory: String, mode: DownloadMode
  ) {
    self.store = store
    self.log = log
    self.directory = directory
    openOptions = options.open
    let spool = store.spoolPath(of: run)
    isPiped = sources.contains(.standardInput)
    spoolPath = isPiped ? spool : nil
    lists = sources.compactMap(\.path).map { Self.absolute($0, store) }
    state = Lock(
      State(
        command: RememberedCommand(
          sources: sources.compactMap { $0 == .standardInput ? spool?.string : Self.name(of: $0, store) },
          options: options.lasting,
          withheld: options.withheld, directory: Self.absolute(directory, store), mode: mode)))
  }

  /// For other processes.
  func record(of sources: [Source]) -> RunRecord {
    let more = sources.count > 1 ? " and \(Quantity.count(sources.count - 1)) more" : ""
    let command = state.withLock { $0.command }
    return RunRecord(
      process: .current, directory: Self.canonical(directory) ?? directory, startedIn: store.folder,
      list: (sources.first.map { Redaction.redactedAddress($0.name) } ?? "") + more,
      words: openOptions.filter { $0 != "--detach" } + command.sources, withheld: command.withheld.map(\.option),
      beganAt: WallClock.milliseconds())
  }

  private static func absolute(_ text: String, _ store: RunHistoryStore) -> String {
    let path = FilePath(text)
    return path.isAbsolute ? path.string : FilePath(store.folder).pushing(path).lexicallyNormalized().string
  }

  /// The SOURCE by which the next run finds the same list; `nil` if it cannot.
  static func name(of source: Source, _ store: RunHistoryStore) -> String? {
    switch source {
    case .standardInput: nil
    case .listAt(let text) where Preset.named(by: text) != nil: text
    case .address(let text), .listAt(let text): ListLine(text.utf8).address?.key
    case .list(let path): absolute(path, store)
    }
  }

  var isRemembered: Bool { state.withLock { $0.isRemembered } }

  /// From any thread. Of a long history, the look-up takes as long as a small file.
  /// - Parameter looksUp: whether the sizes are of use.
  /// - Returns: the sizes of the last run of a list that is read completely; `nil`, without a look-up, for a first run.
  @discardableResult
  func read(_ reading: ListReader.Reading, looksUp: Bool) -> ExpectedSizes? {
    let isNew = state.withLock { state in
      guard !state.isRemembered, reading.count > 0, !isPiped || reading.isKept else { return false }
      if reading.spooledLogins { state.command.withheld.append(.addressLogins) }
      state.isRemembered = true
      return true
    }
    guard isNew, lists.allSatisfy({ access($0, R_OK) == 0 }) else { return nil }
    note(nil)
    guard looksUp, let digest = reading.listDigest else { return nil }
    return times(of: digest)?.most?.sizes
  }

  /// The next run uses them, too: a list that can be read again by its path, all else line by line.
  /// - Parameters:
  ///   - folder: below the output folder.
  ///   - requests: those that are new to this run.
  func add(_ sources: [Source], into folder: String?, _ requests: [DownloadRequest]) {
    let isReadAgain = folder == nil && sources.contains { !$0.isAddress && !$0.isReadOnce }
    let added =
      isReadAgain
      ? sources.compactMap { Self.name(of: $0, store) }
      : requests.map { $0.address.key + LineOptions($0.key.wishes).text }
    let isNoted = state.withLock { state in
      state.command.sources += added
      state.added += added.count
      if requests.contains(where: \.address.hasCredentials) { state.command.withheld.append(.addressLogins) }
      return state.hasEarlier != nil
    }
    if isNoted { append([.began(run: run, state.withLock { $0.command })]) }
  }

  var sources: [String] { state.withLock { $0.command.sources } }

  var added: [String] { state.withLock { $0.command.sources.suffix($0.added) } }

  /// A run for a comparison, which downloaded all files, is recorded only if it downloaded the same bytes.
  /// - Returns: whether it is remembered.
  func ended(_ report: RunReport, listDigest: String, isTrial: Bool) -> Bool {
    guard isTrial ? report.isThrough && report.verdict?.isSame == true : isRemembered else { return false }
    if report.isListUnreadable {
      if state.withLock({ $0.hasEarlier != nil }) { append([.void(run: run)]) }
      return false
    }
    var past: PastRun?
    if report.isThrough {
      past = report.past(listDigest)
      past?.sources = state.withLock { $0.command.sources }
      // If the user's own file stayed (`--on-conflict skip`), nothing can be compared with it.
      past?.directory = isTrial || report.tally.skipped == 0 ? Self.canonical(directory) : nil
      past?.isOfAll = isTrial
    }
    note(past)
    return true
  }

  /// `nil` if there was no run before this one.
  func times(of listDigest: String) -> RunTimes? {
    state.withLock { $0.hasEarlier ?? true } ? store.times(of: listDigest) : nil
  }

  static func canonical(_ directory: String) -> String? {
    guard let path = realpath(directory.isEmpty ? "." : directory, nil) else { return nil }
    defer { free(path) }
    return String(cString: path)
  }

  private func note(_ past: PastRun?) {
    let began = state.withLock { $0.hasEarlier == nil ? [RunEvent.began(run: run, $0.command)] : [] }
    let hasEarlier = append(began + (past.map { [.ended(run: run, $0)] } ?? []))
    if !began.isEmpty, let hasEarlier { state.withLock { $0.hasEarlier = hasEarlier } }
  }

  /// - Returns: whether anything was remembered before; `nil` if nothing could be appended.
  @discardableResult
  private func append(_ events: [RunEvent]) -> Bool? {
    do { return try store.append(events) } catch {
      log?.historyNotSaved(error)
      return nil
    }
  }
}
