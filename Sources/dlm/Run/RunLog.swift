import CurlTransport
import DownloadModel
import FileReceiving
import SystemPackage
import TerminalProgress

/// The messages of `--verbose`; a run without it has none.
struct RunLog: Sendable {
  private func debug(_ what: String, _ facts: [String: Any]) {
    let time = TimeText.utc(milliseconds: WallClock.milliseconds())
    let facts = facts.map { "\($0)=\($1)" }.sorted().joined(separator: " ")
    StandardError.log("\(time) debug dlm: \(facts) \(what)")
  }

  func settings(_ settings: Settings, cacheFolder: FilePath?) {
    debug(
      "settings",
      [
        "mode": settings.mode.rawValue, "directory": settings.output.directory,
        "jobs": settings.adaptsJobs ? "auto, up to \(settings.jobs) at once" : "\(settings.jobs)",
        "libcurl": CurlTransport.libcurlVersion,
        "cache": (settings.own.noCache ? nil : cacheFolder?.string) ?? "off",
      ])
  }

  func ended(_ request: DownloadRequest, _ result: DownloadResult) {
    switch result {
    case .success(let outcome):
      debug(
        outcome.kind.rawValue,
        [
          "url": request.address, "path": outcome.path, "size": outcome.size, "transferred": outcome.transferred,
          "resumed": outcome.resumed, "proof": outcome.proof?.rawValue ?? "-",
          "remark": outcome.remark?.rawValue ?? "-", "verified": outcome.algorithm?.rawValue ?? "-",
        ])
    case .failure(let error):
      debug("failed", ["url": request.address, "code": error.code.rawValue, "temporary": error.isTransient])
    }
  }

  /// - Parameter rate: bytes a second.
  func split(_ request: DownloadRequest, _ count: Int, _ rate: Double?) {
    let because = "fewer received \(Quantity.bytes(Int64(rate ?? 0)))/s"
    debug("split into segments", ["url": request.address, "transfers": count, "because": because])
  }

  func restart(_ request: DownloadRequest, _ reason: RestartReason) {
    debug("started over", ["url": request.address, "because": reason.rawValue])
  }

  func again(_ request: DownloadRequest, _ next: NextAttempt, _ error: DownloadError) {
    debug(
      "tried again",
      [
        "url": request.address, "attempt": next.attempt,
        "because": RetryMessages.text(FailureMessages(error).cause, next),
      ])
  }

  func atOnce(_ peak: Int, _ settings: Settings) {
    if settings.adaptsJobs { debug("files at once", ["most": peak, "allowed": settings.jobs]) }
  }

  func historyNotSaved(_ error: any Error) { debug("the run's history was not saved", ["error": error]) }
}
