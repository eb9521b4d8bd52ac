import DownloadModel
import FileReceiving

/// One request for a file, with the keys by which the cache finds the file.
struct CacheRequest {
  let request: DownloadRequest
  let key: RowKey
  let trust: RequestTrust
  let directory: OutputDirectory
  let meter: TransferMeter

  init(_ request: DownloadRequest, _ trust: RequestTrust, in directory: OutputDirectory, _ meter: TransferMeter) {
    self.request = request
    key = RowKey(of: request, in: directory)
    self.trust = trust
    self.directory = directory
    self.meter = meter
  }

  init(_ plan: DownloadPlan, _ meter: TransferMeter) {
    self.init(plan.request, plan.trust, in: plan.directory, meter)
  }

  /// The name that the request's line or URL gives.
  var name: String { FileNaming.name(of: request) }
}
