struct RepeatVerdict: Equatable {
  struct Difference: Equatable {
    var address: String
    /// The path of the file, existing or expected.
    var path: String
  }

  var compared = 0
  var differences: [Difference] = []
  /// Files that the other run did not download, or that were removed.
  var missing: [Difference] = []
  var isSame: Bool { differences.isEmpty && compared > 0 }
  var isAsHere: Bool { differences.isEmpty && missing.isEmpty }
}
