package import DownloadModel

package struct RunObservation: Sendable {
  /// Its time is from before the first request until the last file has its name, without hashing and cleaning up.
  package let measurement: RunMeasurement
  /// Each with its URL.
  package let failures: [DownloadError]
  package let manifest: ContentManifest

  package init(_ measurement: RunMeasurement, failures: [DownloadError] = [], manifest: ContentManifest) {
    self.measurement = measurement
    self.failures = failures
    self.manifest = manifest
  }
}
