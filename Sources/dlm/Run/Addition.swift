/// What became of URLs and lists that were added to a run.
struct Addition: Sendable {
  /// Files that are new to the run.
  var added: Int
  /// Those that it already has.
  var known: Int
  /// Messages about lines that are not requests.
  var rejected: [String] = []
}
