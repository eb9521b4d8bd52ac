import ArgumentParser
import DownloadModel
import FileReceiving
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// What one `get` remembers for the next in its folder: from its list's first address on, so that a killed run can be
/// repeated; with a list from a pipe from its end on, since half of it is none.
final class RunMemory: Sendable {
  private let store: RunHistoryStore
  private let run = String(UInt64.random(in: .min ... .max), radix: 36)
  private let isPiped: Bool
  private let lists: [String]
  private let log: RunLog
  private let directory: String
  private let state: Lock<State>

  private struct State {
    var command: RunHistory.Command
    var isRemembered = false
    var isNoted = false
    /// Sources that came while the run went on.
    var added = 0
    /// Whether an earlier run was remembered when this one was noted; true where unknown.
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

  /// The SOURCE by which the next run finds the same list; nil where there is none.
  static func name(of source: Source, _ store: RunHistoryStore) -> String? {
    switch source {
    case .standardInput: store.spoolPath?.string
    case .listAt(let text) where Preset.named(by: text) != nil: text
    case .address(let text), .listAt(let text): ListLine(Array(text.utf8)).address?.key
    case .list(let path): absolute(path, store)
    }
  }

  var isRemembered: Bool { state.withLock { $0.isRemembered } }

  /// From any thread.
  /// - Returns: what the files came to in the last run of a list that is read whole; nil, unlooked, for a first one.
  @discardableResult
  func read(_ reading: ListReader.Reading) -> ExpectedSizes? {
    let isNew = state.withLock { state in
      guard !state.isRemembered, reading.count > 0, !isPiped || reading.isKept else { return false }
      if reading.spooledLogins { state.command.withheld.append(.addressLogins) }
      state.isRemembered = true
      return true
    }
    guard isNew, lists.allSatisfy({ access($0, R_OK) == 0 }) else { return nil }
    note(nil)
    return reading.listDigest.flatMap { times(of: $0) }?.most?.sizes
  }

  /// The next run takes them too.
  func add(_ addresses: [Address]) {
    let isNoted = state.withLock { state in
      state.command.sources += addresses.map(\.key)
      state.added += addresses.count
      if addresses.contains(where: \.hasCredentials) { state.command.withheld.append(.addressLogins) }
      return state.isNoted
    }
    if isNoted { append([.began(run: run, state.withLock { $0.command })]) }
  }

  var added: [String] { state.withLock { $0.command.sources.suffix($0.added) } }

  /// Of a run that was only compared, and so fetched all, it is noted only if it brought the same bytes.
  /// - Returns: whether it is remembered.
  func ended(_ report: RunReport, listDigest: String, isTrial: Bool) -> Bool {
    guard isTrial ? report.isThrough && report.verdict?.isSame == true : isRemembered else { return false }
    if report.isListUnreadable {
      if state.withLock({ $0.isNoted }) { append([.void(run: run)]) }
      return false
    }
    var past: PastRun?
    if report.isThrough {
      past = report.past(listDigest)
      past?.sources = state.withLock { $0.command.sources }
      // Where the user's own file was left (`--on-conflict skip`), there is nothing to compare with.
      past?.directory = isTrial || report.tally.skipped == 0 ? Self.canonical(directory) : nil
      past?.isOfAll = isTrial
    }
    note(past)
    return true
  }

  /// Nil if there was no run before this one.
  func times(of listDigest: String) -> RunTimes? {
    state.withLock { $0.hasEarlier } ? store.times(of: listDigest) : nil
  }

  static func canonical(_ directory: String) -> String? {
    guard let path = realpath(directory.isEmpty ? "." : directory, nil) else { return nil }
    defer { free(path) }
    return String(cString: path)
  }

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

/// The list that a command without sources takes: the one of the last `get` in this folder. Never standard input, from
/// which nothing comes under cron or in a script.
struct LastList {
  let history: RunHistory
  let store: RunHistoryStore
  private let spoolPath: String?

  init(_ store: RunHistoryStore) throws {
    guard let history = store.load(), !history.command.sources.isEmpty else {
      StandardError.say([store.warning].compactMap(\.self))
      throw ValidationError(
        "Nothing to get: name a list or an address (dlm get urls.txt), or - to read a list from a pipe.")
    }
    spoolPath = store.spoolPath?.string
    if let path = store.spoolPath, history.command.sources.contains(path.string),
      OwnFiles.bytes(of: path, upTo: 1).isEmpty
    {
      throw ValidationError(
        "The last list of this folder came through a pipe and is no longer there: pipe it in again (dlm get -).")
    }
    (self.history, self.store) = (history, store)
  }

  /// What is remembered counts as typed before what is typed now.
  /// - Throws: `ValidationError` that says what has to be given again.
  func command(_ now: GetCommand) throws -> GetCommand {
    var command: GetCommand
    do { command = try GetCommand.parse(history.command.options + RememberedOptions(now).typed) } catch {
      throw ValidationError(
        "The options of the last run do not go with these: \(GetCommand.message(for: error)) Name the list to leave "
          + "them out.")
    }
    command.sources = history.command.sources
    try requireWithheld(command.shared)
    return command
  }

  func requireWithheld(_ given: RunOptions) throws {
    let names = try HeaderArgument.lines(of: given.header).map { HeaderArgument(argument: $0).name.lowercased() }
    let missing: [String] = history.command.withheld.compactMap { withheld in
      switch withheld {
      case .header(let name): names.contains(name.lowercased()) ? nil : "-H '\(TerminalText.sanitized(name)): …'"
      case .proxy: given.proxy == nil ? "--proxy with its login" : nil
      case .addressLogins where given.netrcFile != nil: nil
      case .addressLogins: "the logins of the addresses (name them again, or use --netrc-file)"
      }
    }
    guard missing.isEmpty else {
      throw ValidationError(
        "The last run had secrets, which dlm does not keep: give again \(missing.joined(separator: ", ")).")
    }
  }

  var names: String {
    history.command.sources.map {
      $0 == spoolPath ? "the list that came through a pipe" : CommandLineText.quoted($0, from: store.folder)
    }.joined(separator: " ")
  }
}

/// Keeps a list from a pipe, so that `dlm get` can repeat it: without credentials, and for this user only. It gets its
/// name only when whole, so a pipe that breaks off replaces nothing.
final class ListSpool {
  private let path: FilePath
  private var pending: [UInt8] = []
  private var draft: DraftFile?
  private var state = State.open
  private(set) var hadLogins = false

  private enum State { case open, broken, kept }

  init(_ path: FilePath) { self.path = path }

  var isKept: Bool { state == .kept }

  /// Half of a list must not be taken for the whole.
  func discard() {
    guard state == .open else { return }
    state = .broken
    pending = []
    draft = nil  // which removes it
  }

  func add(_ address: Address, _ options: LineOptions?) {
    if address.hasCredentials || options?.headerLines.isEmpty == false { hadLogins = true }
    pending += address.key.utf8
    if let options { pending += options.text.utf8 }
    pending.append(0x0A)
    if pending.count > FileDescriptor.blockSize { write() }
  }

  func close() {
    guard state == .open else { return }
    write(isLast: true)
    if state == .open { discard() }
  }

  /// Fails silently, since only the repeating is lost; the list that was remembered before stays.
  private func write(isLast: Bool = false) {
    guard state == .open else { return pending.removeAll() }
    do throws(Errno) {
      if !pending.isEmpty, draft == nil {
        _ = try Folder(own: path.removingLastComponent())
        draft = try DraftFile(for: path)
      }
      try draft?.write(pending)
      pending.removeAll(keepingCapacity: true)
      guard isLast, draft != nil else { return }
      try draft?.commit()
      state = .kept
    } catch { state = .broken }
    draft = nil
  }
}
