import DownloadModel
import FileReceiving
import SystemPackage

/// Makes requests of the blocks of one list.
protocol ListFormatReader {
  /// The current line, from 1; 0 before the first.
  var line: Int { get }
  /// What is said of a list whose format was found out ("a table, URLs in url"), once it is known; nil for what needs
  /// no word.
  var said: String? { get }
  /// What is said of fields that were found out ("checksums from md5"); nil for none.
  var used: String? { get }
  /// What is said at its end; nil if there is nothing to say.
  var note: String? { get }
  /// Whether dlm's users write the format by hand, so that names in it are their own word (HTTP rule 50).
  var isOwnFormat: Bool { get }

  /// - Parameters:
  ///   - block: of decoded bytes; an empty one is the end of the list.
  ///   - base: to which relative addresses are relative.
  /// - Throws: `Rejection.NoList`, or a `DownloadError` of activity "decoding", where nothing more can be read.
  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry]
}

extension ListFormatReader {
  var said: String? { nil }
  var used: String? { nil }
  var note: String? { nil }
  var isOwnFormat: Bool { false }
}
