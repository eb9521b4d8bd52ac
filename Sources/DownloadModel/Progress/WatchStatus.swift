/// The state of a run that watches its lists, at one moment.
package struct WatchStatus: Sendable, Equatable {
  package var lists: [String]
  package var files: Int
  /// Time until downloaded files are checked again; `nil` if they are not.
  package var nextLook: Duration?

  package init(lists: [String], files: Int, nextLook: Duration? = nil) {
    self.lists = lists
    self.files = files
    self.nextLook = nextLook
  }
}
