/// The number of files whose size is known from their list, the index or the last run of the list, and their total
/// size.
package struct ExpectedSizes: Sendable, Equatable {
  package var files: Int
  package var bytes: Int64

  package init(files: Int = 0, bytes: Int64 = 0) {
    self.files = files
    self.bytes = bytes
  }

  /// Sizes in lists may be arbitrary, so the sum saturates at the largest number (HTTP rule 51).
  package mutating func add(_ size: Int64) {
    let (sum, isBeyond) = bytes.addingReportingOverflow(max(0, size))
    bytes = isBeyond ? .max : sum
    files += 1
  }
}
