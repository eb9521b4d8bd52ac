import DownloadModel
import SystemPackage

/// What the reader of a list notes for the order of its requests.
struct ListOrdering: Sendable {
  /// `--first`.
  var first: [NamePattern] = []
  /// Where the index is, if sizes that it knows are wanted; nil if not.
  var indexFolder: FilePath?

  func isFirst(_ address: Address) -> Bool {
    !first.isEmpty && first.contains { $0.matches(address) }
  }
}
