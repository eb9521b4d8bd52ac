/// The progress of one file.
public struct DownloadProgress: Sendable, Equatable {
  /// Its position in the list, from 0.
  public let index: Int
  /// As the program passed it.
  public let item: DownloadItem
  /// Bytes of the file that exist, including those of an earlier, interrupted session.
  public let bytes: Int64
  /// Length of the whole file; `nil` if unknown.
  public let total: Int64?
  /// From 0 to 1; `nil` while the length is unknown.
  public var fraction: Double? { total.map { $0 > 0 ? min(1, max(0, Double(bytes) / Double($0))) : 1 } }
}
