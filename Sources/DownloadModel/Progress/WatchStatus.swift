/// What a run that watches its lists waits for, at one moment.
package struct WatchStatus: Sendable, Equatable {
  package var lists: [String]
  package var files: Int
  /// Until downloaded files are asked about again; nil if they are not.
  package var nextLook: Duration?

  package init(lists: [String], files: Int, nextLook: Duration? = nil) {
    self.lists = lists
    self.files = files
    self.nextLook = nextLook
  }
}
