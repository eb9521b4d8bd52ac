package import DownloadModel

/// Identifies one of several runs.
package struct RunHeading: Sendable {
  /// Lines above the files, with bars.
  let lines: [String]
  /// Additional fields of the JSON plan line.
  let fields: JSONFields

  package init(_ lines: [String], fields: JSONFields) {
    self.lines = lines
    self.fields = fields
  }
}
