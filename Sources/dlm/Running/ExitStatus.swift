import DownloadModel
import StrategyComparing

/// The exit statuses of the contract (sysexits.h where it has one).
enum ExitStatus: Int32 {
  case success = 0
  case failed = 1
  case sourceUnreadable = 66
  case folderUnusable = 73
  case diskFailed = 74
  case tryAgain = 75
  case interrupted = 130
  case terminated = 143
  case hungUp = 129

  /// One status for a whole run: what has to be mended first comes first.
  init(failures: [DownloadError], rejections: [Rejection]) {
    let codes = Set(failures.map(\.code))
    // A list at an address that may come if it is asked for again is a failure like a file's.
    let passing = rejections.filter {
      if case .unfetched(let error) = $0.reason { error.isPassing } else { false }
    }
    let isUnreadable = rejections.contains { $0.isOfList && !passing.contains($0) }
    if codes.contains(.folder) {
      self = .folderUnusable
    } else if codes.contains(.diskFull) || codes.contains(.disk) {
      self = .diskFailed
    } else if isUnreadable {
      self = .sourceUnreadable
    } else if rejections.count > passing.count || failures.contains(where: { !$0.isPassing }) {
      self = .failed
    } else {
      self = failures.isEmpty && rejections.isEmpty ? .success : .tryAgain
    }
  }

  /// What ended a comparison.
  init(_ error: ComparisonError, signal: Int32?) {
    switch error {
    case .cancelled: self = ExitStatus(signal: signal)
    case .broken(_, let error): self = ExitStatus(failures: [error], rejections: [])
    case .invalid(let run):
      if case .failed(let failures) = run.reason {
        self = ExitStatus(failures: failures.map(\.error), rejections: [])
      } else {
        self = .failed
      }
    }
  }

  init(signal: Int32?) {
    switch signal {
    case .some(15): self = .terminated
    case .some(1): self = .hungUp
    default: self = .interrupted
    }
  }
}
