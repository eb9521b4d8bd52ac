import DownloadModel

/// The progress of one file.
public struct DownloadProgress: Sendable, Equatable {
  /// Its place in the list, from 0.
  public let index: Int
  /// As the program gave it.
  public let item: DownloadItem
  /// Bytes of the file that are there, those of an earlier, interrupted session included.
  public let bytes: Int64
  /// Length of the whole file; nil while it is unknown.
  public let total: Int64?
  /// From 0 to 1; nil while the length is unknown.
  public var fraction: Double? { total.map { $0 > 0 ? min(1, max(0, Double(bytes) / Double($0))) : 1 } }
}
