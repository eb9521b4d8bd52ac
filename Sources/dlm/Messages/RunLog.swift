import CurlTransport
import DownloadModel
import Logging
import SystemPackage
import TerminalProgress

/// The messages of `--verbose`.
struct RunLog: Sendable {
  private let logger: Logger

  init(isVerbose: Bool) {
    var logger = Logger(label: "dlm") { StreamLogHandler(label: $0, stream: StandardError()) }
    logger.logLevel = isVerbose ? .debug : .error
    self.logger = logger
  }

  func settings(_ settings: Settings, cacheFolder: FilePath?) {
    logger.debug(
      "settings",
      metadata: [
        "mode": "\(settings.mode.rawValue)",
        "jobs": "\(settings.adaptsJobs ? "auto, up to \(settings.jobs) at once" : "\(settings.jobs)")",
        "directory": "\(settings.output.directory)", "libcurl": "\(CurlTransport.libcurlVersion)",
        "cache": "\((settings.output.usesCache ? cacheFolder?.string : nil) ?? "off")",
      ])
  }

  func ended(_ request: DownloadRequest, _ result: Result<DownloadOutcome, DownloadError>) {
    switch result {
    case .success(let outcome):
      logger.debug(
        "\(outcome.kind.rawValue)",
        metadata: [
          "address": "\(request.address)", "path": "\(outcome.path)", "size": "\(outcome.size)",
          "transferred": "\(outcome.transferred)", "resumed": "\(outcome.resumed)",
          "proof": "\(outcome.proof?.rawValue ?? "-")", "remark": "\(outcome.remark?.rawValue ?? "-")",
          "verified": "\(outcome.algorithm?.rawValue ?? "-")",
        ])
    case .failure(let error):
      logger.debug(
        "failed",
        metadata: [
          "address": "\(request.address)", "code": "\(error.code.rawValue)", "temporary": "\(error.isTransient)",
        ])
    }
  }

  /// - Parameter rate: bytes a second.
  func split(_ request: DownloadRequest, _ count: Int, _ rate: Double?) {
    logger.debug(
      "split into segments",
      metadata: [
        "address": "\(request.address)", "transfers": "\(count)",
        "because": "fewer brought \(Quantity.bytes(Int64(rate ?? 0)))/s",
      ])
  }

  func again(_ request: DownloadRequest, _ next: NextAttempt, _ error: DownloadError) {
    logger.debug(
      "tried again",
      metadata: [
        "address": "\(request.address)", "attempt": "\(next.attempt)",
        "because": "\(RetryMessages.text(FailureMessages(error).cause, next))",
      ])
  }

  func atOnce(_ peak: Int, _ settings: Settings) {
    guard settings.adaptsJobs else { return }
    logger.debug("files at once", metadata: ["most": "\(peak)", "allowed": "\(settings.jobs)"])
  }

  func historyNotSaved(_ error: any Error) {
    logger.debug("the run's history was not saved", metadata: ["error": "\(error)"])
  }
}
