import DownloadModel
import FoundationEssentials

/// What stands beside a partial file, as JSON in `NAME.part.json`: whose bytes these are, of which version.
///
/// The done range is the file's own length, as long as bytes are only appended; a file that is fetched in parts has its
/// done ranges here.
struct PartialRecord: Sendable, Equatable, Codable {
  /// 1 had no seal, and counts as foreign.
  var format = 2
  var owner: PartialOwner
  var validator: Validator
  /// Length of the whole file in bytes; nil if the server did not say.
  var total: Int64?
  /// Content-Encoding of the bytes, if any.
  var encoding: String?
  /// Whether that was taken off, so that the bytes cannot be gone on from; nil if not.
  var isDecoded: Bool?
  /// The address that gave the bytes, where redirects led to another one.
  var answeredBy: String?
  /// The final name that the server or the user wanted.
  var name: String
  /// First and last byte of each run of bytes that is there, in order; nil if that is the whole part.
  var done: [[Int64]]?
  /// What only this user's dlm can say of all the rest; nil until it is written.
  private var seal: String?

  init(owner: PartialOwner, held: HeldPart, name: String, done: [ClosedRange<Int64>]? = nil) {
    self.done = done?.map { [$0.lowerBound, $0.upperBound] }
    self.owner = owner
    validator = held.validator
    total = held.total
    encoding = held.encoding
    isDecoded = held.isDecoded ? true : nil
    answeredBy = held.answeredBy
    self.name = name
  }

  /// - Returns: nil if the bytes are no record that can be trusted: torn, of another user, planted, or of another format.
  init?(json: [UInt8], secret: UserSecret) {
    guard var record = try? JSONDecoder().decode(PartialRecord.self, from: Data(json)), record.format == 2,
      FileNaming.isUsable(record.name), (record.total ?? 0) >= 0
    else { return nil }
    let seal = record.seal
    record.seal = nil
    guard seal == secret.tag(Self.purpose, record.encoded()) else { return nil }
    self = record
    validator = validator.fitForHeaders
  }

  private static let purpose = "record"

  /// - Parameter secret: the user's, whose seal the record gets.
  func json(_ secret: UserSecret) -> [UInt8] {
    var sealed = self
    sealed.seal = secret.tag(Self.purpose, encoded())
    return sealed.encoded()
  }

  private func encoded() -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    // Strings and integers: nothing in here can fail to encode. An empty record would be read as none.
    guard let data = try? encoder.encode(self) else { return [] }
    return Array(data) + [UInt8(ascii: "\n")]
  }

  /// What a part of that length is good for.
  func held(length: Int64) -> HeldPart {
    // Longer than the whole: something else wrote into it, and none of it can be trusted.
    let isSane = total.map { length <= $0 } ?? true
    var good = isSane ? length : 0
    if done != nil {
      good = parts(length: length) == nil ? 0 : ranges.first.map { $0.upperBound + 1 } ?? 0
    }
    return HeldPart(
      length: good, validator: validator, total: total, encoding: encoding, isDecoded: isDecoded == true,
      answeredBy: answeredBy)
  }

  /// What of a part of that length is there behind its start.
  /// - Returns: nil if it is not fetched in parts, or the ranges are not those of such a part.
  func parts(length: Int64) -> FileParts? {
    guard let done, let total, length <= total, ranges.count == done.count, ranges.first?.lowerBound == 0,
      (ranges.last?.upperBound ?? 0) < length
    else { return nil }
    return FileParts(done: ranges, total: total)
  }

  private var ranges: [ClosedRange<Int64>] {
    (done ?? []).compactMap { $0.count == 2 && $0[0] >= 0 && $0[0] <= $0[1] ? $0[0]...$0[1] : nil }
  }
}
