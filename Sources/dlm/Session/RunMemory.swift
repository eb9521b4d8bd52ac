import ArgumentParser
import DownloadModel
import Foundation
import Glibc
import Synchronization
import SystemPackage

/// What one `get` remembers for the next in its folder.
///
/// Remembered is a run whose list could be read and names something, from its first address on, so that a
/// killed run can be repeated by name; a list from a pipe from its end on, since half of it is none. All else
/// (a mistyped list, an empty pipe, a list that breaks off) leaves what was remembered before.
final class RunMemory: Sendable {
  private let store: RunHistoryStore
  private let stored: RunHistory?
  private let isPiped: Bool
  private let lists: [String]
  private let log: RunLog
  private let state: Mutex<State>

  private struct State {
    var draft: RunHistory
    var isRemembered = false
  }

  init(_ store: RunHistoryStore, _ sources: [Source], _ options: RememberedOptions, _ log: RunLog) {
    self.store = store
    self.log = log
    stored = store.load()
    isPiped = sources.contains(.standardInput)
    lists = sources.compactMap(Self.listPath)
    var draft = RunHistory(folder: store.folder, sources: sources.compactMap { Self.name(of: $0, store) })
    draft.options = options.lasting
    draft.withheld = options.withheld
    draft.runs = stored?.runs ?? [:]
    // A list that is taken again has lost its logins already.
    if stored?.sources == draft.sources, stored?.withheld.contains(.addressLogins) == true,
      !draft.withheld.contains(.addressLogins)
    {
      draft.withheld.append(.addressLogins)
    }
    state = Mutex(State(draft: draft))
  }

  /// Absolute; nil for what is no list file.
  private static func listPath(_ source: Source) -> String? {
    if case .list(let path) = source { URL(fileURLWithPath: path).path } else { nil }
  }

  /// The SOURCE by which the next run finds the same; nil where there is none.
  private static func name(of source: Source, _ store: RunHistoryStore) -> String? {
    switch source {
    case .standardInput: store.spoolPath?.string
    case .address(let text), .listAt(let text): (try? Address(text))?.key
    case .list: listPath(source)
    }
  }

  /// Whether `dlm get` without a SOURCE would take this list again.
  var isRemembered: Bool { state.withLock { $0.isRemembered } }

  /// The list was read so far. From any thread.
  func read(_ reading: ListReader.Reading) {
    let draft = state.withLock { state -> RunHistory? in
      guard !state.isRemembered, reading.count > 0, isPiped ? reading.isWhole && reading.isKept : true else {
        return nil
      }
      if reading.spooledLogins { state.draft.withheld.append(.addressLogins) }
      state.isRemembered = true
      return state.draft
    }
    guard let draft, lists.allSatisfy({ access($0, R_OK) == 0 }) else { return }
    save(draft)
  }

  /// An ordinary run ended.
  /// - Returns: what the next run will know; nil when this one is not remembered.
  func ended(_ report: RunReport, listDigest: String, directory: String) -> RunHistory? {
    let (draft, isRemembered) = state.withLock { ($0.draft, $0.isRemembered) }
    guard isRemembered else { return nil }
    if report.isListUnreadable {
      forget()
      return nil
    }
    var history = draft
    if report.isWhole {
      history.note(report.measurement(listDigest), of: report.mode)
      // Where the user's own file was left under the name (`--on-conflict skip`), there is nothing to compare
      // with.
      history.last = report.tally.skipped == 0 ? Self.wholeRun(report, listDigest, directory) : nil
    }
    save(history)
    return history
  }

  /// A run that was only to be compared ended: what is here is as it was, so that only a whole one changes
  /// anything.
  func compared(_ report: RunReport, listDigest: String, directory: String) -> RunHistory {
    var history = state.withLock { $0.draft }
    // All of it was fetched, whatever an earlier run did.
    history.runs[report.mode.rawValue] = report.measurement(listDigest)
    history.last = Self.wholeRun(report, listDigest, directory)
    save(history)
    return history
  }

  private static func wholeRun(_ report: RunReport, _ digest: String, _ directory: String)
    -> RunHistory.WholeRun?
  {
    canonical(directory).map { RunHistory.WholeRun(mode: report.mode, listDigest: digest, directory: $0) }
  }

  /// Absolute and without links; nil if there is no such folder.
  static func canonical(_ directory: String) -> String? {
    guard let path = realpath(directory.isEmpty ? "." : directory, nil) else { return nil }
    defer { free(path) }
    return String(cString: path)
  }

  /// The list broke off after it had been taken for readable.
  private func forget() {
    do {
      if let stored { try store.save(stored) } else { try store.remove() }
    } catch {
      log.historyNotSaved(error)
    }
  }

  private func save(_ history: RunHistory) {
    do { try store.save(history) } catch { log.historyNotSaved(error) }
  }
}

/// The sources of a command that names none: the last list that a `get` in this folder used. Never standard
/// input: under cron, in a script or with a closed descriptor nothing comes from there, and a list from a
/// pipe must be named `-`.
struct LastList {
  let history: RunHistory
  private let spoolPath: String?

  /// - Throws: `ValidationError` where nothing is remembered.
  init(_ store: RunHistoryStore) throws {
    guard let history = store.load(), !history.sources.isEmpty else {
      throw ValidationError(UsageMessages.nothingRemembered)
    }
    spoolPath = store.spoolPath?.string
    if let spoolPath, history.sources.contains(spoolPath), access(spoolPath, R_OK) != 0 {
      throw ValidationError(UsageMessages.pipedListGone)
    }
    self.history = history
  }

  /// The run again, as if what is remembered had been typed before what is typed now.
  /// - Throws: `ValidationError` that says what has to be given again.
  func command(_ now: GetCommand) throws -> GetCommand {
    var command: GetCommand
    do {
      command = try GetCommand.parse(history.options + RememberedOptions(now).typed)
    } catch {
      throw ValidationError(UsageMessages.optionsDoNotFit(GetCommand.message(for: error)))
    }
    command.sources = history.sources
    try requireWithheld(command.connection)
    return command
  }

  /// - Throws: `ValidationError` that says what has to be given again.
  func requireWithheld(_ given: ConnectionOptions) throws {
    let names = try HeaderArgument.lines(of: given.header).map {
      HeaderArgument(argument: $0).name.lowercased()
    }
    let missing = history.withheld.filter { withheld in
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
    let here = history.folder.hasSuffix("/") ? history.folder : history.folder + "/"
    return history.sources.map { source in
      if source == spoolPath { return UsageMessages.pipedList }
      return CommandLineText.quoted(source.hasPrefix(here) ? String(source.dropFirst(here.count)) : source)
    }.joined(separator: " ")
  }
}
