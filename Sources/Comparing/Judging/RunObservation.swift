package import DownloadModel

package struct RunObservation: Sendable {
  /// Its time is from before the first request to after the last file stood under its name, without hashing and
  /// clearing up.
  package let measurement: RunMeasurement
  /// Each with its address.
  package let failures: [DownloadError]
  package let manifest: ContentManifest

  package init(_ measurement: RunMeasurement, failures: [DownloadError] = [], manifest: ContentManifest) {
    self.measurement = measurement
    self.failures = failures
    self.manifest = manifest
  }
}
