package import DownloadModel
import Synchronization

/// Which of several runs it is.
package struct RunHeading: Sendable {
  /// With bars, what stands above its files.
  let lines: [String]
  /// What the plan line of JSON adds.
  let fields: JSONFields

  package init(_ lines: [String], fields: JSONFields) {
    self.lines = lines
    self.fields = fields
  }
}
