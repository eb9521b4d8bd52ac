package import SystemPackage
import DownloadModel
import FoundationEssentials

/// The JSON file beside a part, `NAME.part.json`: the part's URL and version. It lists the complete ranges of a file
/// that is downloaded in segments. Without ranges, the part's length tells which bytes are complete.
package struct ResumeMetadata: Codable {
  /// Metadata of another format counts as foreign.
  var format = 1
  /// `Address.resource`.
  package var address: String
  /// The version of the bytes, without their number.
  package var held: HeldPart
  var name: String
  /// First and last byte of each complete range, in order; `nil` if the part has no gaps.
  var done: [[Int64]]?
  /// Authenticates all the other fields with the user's secret; `nil` until the metadata is written.
  private var seal: String?

  init(address: String, held: HeldPart, name: String, done: [ClosedRange<Int64>]? = nil) {
    self.address = address
    self.held = held
    self.name = name
    self.done = done?.map { [$0.lowerBound, $0.upperBound] }
  }

  /// Metadata has a few hundred bytes; a longer file is not metadata.
  private static let longest = 65_536

  package static func read(_ file: borrowing Descriptor, _ secret: UserSecret) throws(Errno) -> ResumeMetadata? {
    let json = try file.read(longest + 1)
    return json.count > longest ? nil : ResumeMetadata(json: json, secret: secret)
  }

  /// - Returns: `nil` if the bytes are torn, another user's, forged, or of another format.
  init?(json: [UInt8], secret: UserSecret) {
    guard var metadata = ResumeMetadata(json: json), metadata.format == 1,
      FileNaming.isUsable(metadata.name), (metadata.held.total ?? 0) >= 0
    else { return nil }
    let seal = metadata.seal
    metadata.seal = nil
    guard seal == secret.tag("metadata", metadata.encoded()) else { return nil }
    self = metadata
    held.validator = held.validator.fitForHeaders
  }

  func json(_ secret: UserSecret) -> [UInt8] {
    var sealed = self
    sealed.seal = secret.tag("metadata", encoded())
    return sealed.encoded()
  }

  private func encoded() -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    // Strings and integers only, so encoding cannot fail. Empty metadata would be read as no metadata.
    guard let data = try? encoder.encode(self) else { return [] }
    return Array(data) + [.newline]
  }

  /// The valid bytes of a part of that length, from its start.
  func held(length: Int64) -> HeldPart {
    // Another program made a part that is longer than the complete file, so no byte of it is trusted.
    let good = done == nil ? (length <= held.total ?? .max ? length : 0) : segments(length: length)?.length
    var held = held
    held.length = good ?? 0
    return held
  }

  /// The segments of a part of that length; `nil` if the file has none, or if the ranges do not fit the part.
  func segments(length: Int64) -> SegmentMap? {
    guard let done, let total = held.total, length <= total, ranges.count == done.count, let last = ranges.last,
      last.upperBound < length
    else { return nil }
    return SegmentMap(done: ranges, total: total)
  }

  /// The number of body bytes in a part of that length.
  package func bytes(length: Int64) -> Int64 {
    done == nil
      ? length : ranges.reduce(0) { $0 + min($1.upperBound + 1, length) - min($1.lowerBound, length) }
  }

  private var ranges: [ClosedRange<Int64>] {
    (done ?? []).compactMap { $0.count == 2 && $0[0] >= 0 && $0[0] <= $0[1] ? $0[0]...$0[1] : nil }
  }
}
