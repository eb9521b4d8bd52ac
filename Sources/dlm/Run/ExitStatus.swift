import Comparing
import DownloadCaching
import DownloadModel
import FileReceiving

/// The exit statuses; sysexits.h's where it has one. A command that throws one has said why.
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
  /// Whoever read standard output has gone, as SIGPIPE ends cat(1).
  case brokenPipe = 141

  /// Of all failures, the one that the user must deal with first decides.
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

  /// The files decide, then what is written behind them.
  /// - Parameter hasLostData: whether JSON lines could not be written.
  init(_ report: RunReport, hasKeptAll: Bool, hasLostData: Bool) {
    let ofFiles = ExitStatus(failures: report.failures, rejections: report.rejections)
    self = report.signal == nil ? ofFiles : ExitStatus(signal: report.signal)
    // Compared, it brought other bytes than stand here.
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

  /// The status if output could not be written; a signal may be why.
  static var unwritten: ExitStatus { Signals.ending.map { ExitStatus(signal: $0) } ?? .diskFailed }

  init(signal: Int32?) { self = ExitStatus(rawValue: 128 + (signal ?? 2)) ?? .interrupted }
}
