import Synchronization

/// How many files have a size that their list, the index or the last run of the list gives, and these sizes together.
package struct ExpectedSizes: Sendable, Equatable {
  package var files: Int
  package var bytes: Int64

  package init(files: Int = 0, bytes: Int64 = 0) {
    self.files = files
    self.bytes = bytes
  }

  /// What lists say of sizes may be anything, so the sum ends at the greatest number (HTTP rule 51).
  package mutating func add(_ size: Int64) {
    let (sum, isBeyond) = bytes.addingReportingOverflow(max(0, size))
    bytes = isBeyond ? .max : sum
    files += 1
  }
}
