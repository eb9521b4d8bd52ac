import Comparing
import DownloadModel

/// The exit statuses; those of sysexits.h where one fits. A command that throws one has already reported the cause.
enum ExitStatus: Int32, Error {
  case success = 0
  case failed = 1
  case usage = 64
  case sourceUnreadable = 66
  case folderUnusable = 73
  case diskFailed = 74
  case tryAgain = 75
  case interrupted = 130
  case terminated = 143
  case hungUp = 129
  /// The reader of standard output is gone, as when SIGPIPE ends cat(1).
  case brokenPipe = 141

  /// The failure that the user must handle first decides.
  init(failures: [DownloadError], rejections: [Rejection]) {
    let codes = Set(failures.map(\.code))
    if codes.contains(.folder) {
      self = .folderUnusable
    } else if codes.contains(.diskFull) || codes.contains(.disk) {
      self = .diskFailed
    } else if rejections.contains(where: { $0.isOfList && !$0.mayPass }) {
      self = .sourceUnreadable
    } else if !rejections.allSatisfy(\.mayPass) || !failures.allSatisfy(\.mayPass) {
      self = .failed
    } else {
      self = failures.isEmpty && rejections.isEmpty ? .success : .tryAgain
    }
  }

  /// Decided by the files, then by the outputs after them.
  /// - Parameter hasLostData: whether JSON lines could not be written.
  init(_ report: RunReport, hasKeptAll: Bool, hasLostData: Bool) {
    let ofFiles = ExitStatus(failures: report.failures, rejections: report.rejections)
    self = report.signal == nil ? ofFiles : ExitStatus(signal: report.signal)
    // The comparison found other bytes than those of the existing files.
    let isOther = report.verdict?.isAsHere == false
    if self == .success, !hasKeptAll || hasLostData && !isOther { self = .unwritten }
    if isOther, self == .success || self == .tryAgain { self = .failed }
  }

  init(_ error: ComparisonError, signal: Int32?) {
    switch error {
    case .cancelled: self = ExitStatus(signal: signal)
    case .broken(_, let error): self = ExitStatus(failures: [error], rejections: [])
    case .invalid(_, .failed(let failures)): self = ExitStatus(failures: failures, rejections: [])
    case .invalid: self = .failed
    }
  }

  /// The status if output could not be written; a signal may be the cause.
  static var unwritten: ExitStatus { Signals.ending.map { ExitStatus(signal: $0) } ?? .diskFailed }

  init(signal: Int32?) { self = ExitStatus(rawValue: 128 + (signal ?? 2)) ?? .interrupted }
}
