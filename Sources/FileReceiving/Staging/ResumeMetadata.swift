package import SystemPackage
import DownloadModel
import FoundationEssentials

/// The JSON beside a part, in `NAME.part.json`: whose bytes these are, and of which version. A file that is fetched in
/// segments lists its done ranges here; of another, the part's length says which bytes are there.
package struct ResumeMetadata: Equatable, Codable {
  /// What is of another format counts as foreign.
  var format = 1
  /// `Address.resource`.
  package var address: String
  /// What its bytes are of, but not how many.
  package var held: HeldPart
  var name: String
  /// First and last byte of each range that is there, in order; nil if that is the whole part.
  var done: [[Int64]]?
  /// Authenticates all the other fields with the user's secret; nil until the metadata is written.
  private var seal: String?

  init(address: String, held: HeldPart, name: String, done: [ClosedRange<Int64>]? = nil) {
    self.address = address
    self.held = held
    self.name = name
    self.done = done?.map { [$0.lowerBound, $0.upperBound] }
  }

  /// A longer file is not metadata, which is a few hundred bytes.
  private static let longest = 65_536

  package static func read(_ file: borrowing Descriptor, _ secret: UserSecret) throws(Errno) -> ResumeMetadata? {
    let json = try file.read(longest + 1)
    return json.count > longest ? nil : ResumeMetadata(json: json, secret: secret)
  }

  /// - Returns: nil if the bytes are torn, another user's, forged, or of another format.
  init?(json: [UInt8], secret: UserSecret) {
    guard var metadata = try? JSONDecoder().decode(ResumeMetadata.self, from: Data(json)), metadata.format == 1,
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
    return Array(data) + [UInt8(ascii: "\n")]
  }

  /// Which bytes of a part of that length can be used, from its start on.
  func held(length: Int64) -> HeldPart {
    // A part longer than the whole file was written by something else, and none of it can be trusted.
    let good = done == nil ? (length <= held.total ?? .max ? length : 0) : segments(length: length)?.length
    var held = held
    held.length = good ?? 0
    return held
  }

  /// The segments of a part of that length; nil if the file has none, or the ranges are not those of such a part.
  func segments(length: Int64) -> SegmentMap? {
    guard let done, let total = held.total, length <= total, ranges.count == done.count, let last = ranges.last,
      last.upperBound < length
    else { return nil }
    return SegmentMap(done: ranges, total: total)
  }

  /// How many bytes of the body a part of that length holds.
  package func bytes(length: Int64) -> Int64 {
    done == nil
      ? length : ranges.reduce(0) { $0 + min($1.upperBound + 1, length) - min($1.lowerBound, length) }
  }

  private var ranges: [ClosedRange<Int64>] {
    (done ?? []).compactMap { $0.count == 2 && $0[0] >= 0 && $0[0] <= $0[1] ? $0[0]...$0[1] : nil }
  }
}
