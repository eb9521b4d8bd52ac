import DownloadModel
import Foundation
import Glibc
import Synchronization
import SystemPackage

/// What one `get` leaves for the next in its folder.
///
/// Remembered is a run whose list could be read and names something, from its first address on, so that a killed run can
/// be repeated by name; a list from a pipe from its end on, since half of it is none. Whatever else happens, a
/// mistyped list, an empty pipe, a list that breaks off, leaves what was remembered before.
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

  /// - Parameter arguments: the SOURCEs.
  init(_ store: RunHistoryStore, _ arguments: [String], _ options: RememberedOptions, _ log: RunLog) {
    self.store = store
    self.log = log
    stored = store.load()
    isPiped = arguments.contains("-")
    var draft = RunHistory(folder: store.folder, sources: [])
    var lists: [String] = []
    for argument in arguments {
      switch Source(argument) {
      case .standardInput: if let path = store.spoolPath { draft.sources.append(path.string) }
      case .address(let text), .listAt(let text):
        if let key = (try? Address(text))?.key { draft.sources.append(key) }
      case .list(let path):
        let path = URL(fileURLWithPath: path).path
        lists.append(path)
        draft.sources.append(path)
      }
    }
    self.lists = lists
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
      // Where a file of the user's was left in its place (`--on-conflict skip`), there is nothing to compare with.
      history.last = report.tally.skipped == 0 ? Self.wholeRun(report, listDigest, directory) : nil
    }
    save(history)
    return history
  }

  /// A run that was only to be compared ended: what is here is as it was, so that only a whole one changes anything.
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

extension RunReport {
  /// Whether it says something about the mode: it ran to its end.
  var isWhole: Bool { signal == nil && failures.isEmpty && rejections.isEmpty && tally.done > 0 }

  fileprivate var isListUnreadable: Bool {
    rejections.contains(where: \.isOfList)
  }

  func measurement(_ listDigest: String) -> RunHistory.Run {
    RunHistory.Run(
      listDigest: listDigest, jobs: jobs, fetched: tally.bodies, transferredBytes: tally.bodyBytes,
      seconds: elapsed / .seconds(1), endedAt: Date())
  }
}
