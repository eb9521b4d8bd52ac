/// How the files of one run differ from those of another.
public enum ContentDifference: Sendable, Equatable {
  case bytes(name: String)
  /// The other run had it.
  case missing(name: String)
  /// The other run did not have it.
  case unexpected(name: String)
  /// The digests over everything differ, and the runs named no files that would say where.
  case somewhere
}
