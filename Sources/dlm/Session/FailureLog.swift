import DownloadModel
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// The failures of a run, for the summary and the exit status. Beyond `told` they are only counted, and spooled for
/// `--failed`, so that memory does not grow with the list.
final class FailureLog: Sendable {
  /// How many are kept: nobody reads more in a terminal.
  static let told = 10_000

  let spool: FailureSpool?
  private let limit: Int
  private let state = Lock(State())

  private struct State {
    var failures: [DownloadError] = []
    var rejections: [Rejection] = []
    /// The first failure of each kind is kept however late it comes, for the exit status.
    var kinds: Set<String> = []
    var more = 0
  }

  init(spool: FailureSpool? = nil, limit: Int = told) { (self.spool, self.limit) = (spool, limit) }

  func add(_ error: DownloadError) {
    guard error.code != .cancelled else { return }
    let isKept = state.withLock { state in
      let isNew = state.kinds.insert("\(error.code.rawValue) \(error.isTransient)").inserted
      guard state.failures.count < limit || isNew else {
        state.more += 1
        return false
      }
      state.failures.append(error)
      return true
    }
    if !isKept { spool?.add(error) }
  }

  func add(_ rejection: Rejection) {
    state.withLock { state in
      if state.rejections.count < limit { state.rejections.append(rejection) } else { state.more += 1 }
    }
  }

  var failures: [DownloadError] { state.withLock { $0.failures } }
  var rejections: [Rejection] { state.withLock { $0.rejections } }
  var more: Int { state.withLock { $0.more } }

  /// Says which lines are no requests.
  /// - Returns: what that means for the run.
  func sayRejections() -> ExitStatus {
    StandardError.say(rejections.map { RejectionMessages($0).said })
    return ExitStatus(failures: [], rejections: rejections)
  }
}

/// Failures in a file without a name, since a list may have millions.
final class FailureSpool: Sendable {
  private let state: Lock<State>

  private struct State {
    let file: FileDescriptor
    var heading = ""
    var failure: Errno?
  }

  init(in folder: String) throws(Errno) {
    state = Lock(State(file: try TemporaryFolder.unnamedFile(in: folder, "failed")))
  }

  deinit { state.withLock { try? $0.file.close() } }  // it is read no more

  /// Adds the address, under a comment where the cause is another than before.
  func add(_ error: DownloadError) {
    let heading = FailedList.oneLine(FailureMessages(error).heading)
    let line = FailedList.line(error) + "\n"
    state.withLock { state in
      let text = heading == state.heading ? line : "# \(heading)\n\(line)"
      state.heading = heading
      do throws(Errno) { try state.file.writeWhole(text.utf8) } catch { state.failure = error }
    }
  }

  /// - Throws: Errno of either file, also of earlier writes.
  func copy(to target: FileDescriptor) throws {
    try state.withLock { state in
      if let failure = state.failure { throw failure }
      try state.file.seek(offset: 0, from: .start)
      while case let block = try state.file.block(), !block.isEmpty { try target.writeWhole(block) }
      try state.file.seek(offset: 0, from: .end)
    }
  }
}

/// A list that `dlm get` can read again: addresses under comments that give the cause.
enum FailedList {
  static func text(_ report: RunReport) -> String {
    var lines: [String] = []
    if report.failures.isEmpty, report.rejections.isEmpty { lines.append("# nothing failed") }
    lines += report.rejections.map { "# " + Self.oneLine(RejectionMessages($0).line) }
    for group in FailureMessages.groups(of: report.failures) {
      lines.append("# " + Self.oneLine(group.messages.heading))
      lines += group.errors.map(Self.line)
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A failure without an address concerns a folder or file: there is nothing to fetch again.
  static func line(_ error: DownloadError) -> String {
    guard let address = error.address else { return "# " + oneLine(error.path ?? "") }
    return address + (error.wishes.map { LineOptions($0).text } ?? "")
  }

  static func oneLine(_ text: String) -> String { TerminalText.sanitized(text).replacing("\n", with: " ") }
}
