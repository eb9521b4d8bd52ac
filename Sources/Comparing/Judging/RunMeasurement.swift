/// One run of a mode.
package struct RunMeasurement: Sendable, Equatable {
  package let mode: ComparedMode
  package let round: Int
  package let wall: Duration
  package let files: Int
  /// Body bytes received from the network.
  package let bytes: Int64
  package let details: RunDetails

  package init(
    mode: ComparedMode, round: Int, wall: Duration, files: Int, bytes: Int64, details: RunDetails = RunDetails()
  ) {
    self.mode = mode
    self.round = round
    self.wall = wall
    self.files = files
    self.bytes = bytes
    self.details = details
  }
}
