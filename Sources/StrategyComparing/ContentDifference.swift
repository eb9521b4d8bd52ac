/// How the files of one run differ from those of another.
public enum ContentDifference: Sendable, Equatable {
  case bytes(address: String)
  /// The other run had it.
  case missing(address: String)
  /// The other run did not have it.
  case unexpected(address: String)
  /// The digests over everything differ, and the runs told no files that would say where.
  case somewhere
}
