import DownloadModel

/// Makes requests from the blocks of one list.
protocol ListFormatReader {
  /// The current line, from 1; 0 before the first.
  var line: Int { get }
  /// A message about a detected format ("a table, URLs in url"), once it is known; `nil` if none is needed.
  var said: String? { get }
  /// A message about detected fields ("checksums from md5"); `nil` for none.
  var used: String? { get }
  /// A message at the end; `nil` for none.
  var note: String? { get }

  /// - Parameters:
  ///   - block: of decoded bytes; an empty one is the end of the list.
  ///   - base: for relative URLs.
  /// - Throws: `Rejection.NoList`, or a `DownloadError` of activity "decoding" if the rest cannot be read.
  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry]
}

extension ListFormatReader {
  var said: String? { nil }
  var used: String? { nil }
  var note: String? { nil }
}
