import DownloadModel
import FoundationEssentials
import SystemPackage

/// The JSON beside a part, in `NAME.part.json`: whose bytes these are, and of which version. A file that is fetched in
/// segments lists its done ranges here; of another, the part's length says which bytes are there.
struct ResumeMetadata: Sendable, Equatable, Codable {
  /// What is of another format counts as foreign.
  var format = 1
  /// `Address.resource`.
  var address: String
  var trust: TrustMark
  var validator: Validator
  var total: Int64?
  var encoding: String?
  var isDecoded: Bool?
  /// The address that gave the bytes, where redirects led to another one.
  var answeredBy: String?
  var name: String
  /// First and last byte of each range that is there, in order; nil if that is the whole part.
  var done: [[Int64]]?
  /// Authenticates all the other fields with the user's secret; nil until the metadata is written.
  private var seal: String?

  init(address: String, held: HeldPart, name: String, done: [ClosedRange<Int64>]? = nil) {
    self.done = done?.map { [$0.lowerBound, $0.upperBound] }
    self.address = address
    trust = held.trust
    validator = held.validator
    total = held.total
    encoding = held.encoding
    isDecoded = held.isDecoded ? true : nil
    answeredBy = held.effectiveURL
    self.name = name
  }

  /// A longer file is not metadata, which is a few hundred bytes.
  private static let longest = 65_536

  static func read(_ file: borrowing Descriptor, _ secret: UserSecret) throws(Errno) -> ResumeMetadata? {
    let json = try file.read(longest + 1)
    return json.count > longest ? nil : ResumeMetadata(json: json, secret: secret)
  }

  /// - Returns: nil if the bytes are torn, another user's, forged, or of another format.
  init?(json: [UInt8], secret: UserSecret) {
    guard var metadata = try? JSONDecoder().decode(ResumeMetadata.self, from: Data(json)), metadata.format == 1,
      FileNaming.isUsable(metadata.name), (metadata.total ?? 0) >= 0
    else { return nil }
    let seal = metadata.seal
    metadata.seal = nil
    guard seal == secret.tag("metadata", metadata.encoded()) else { return nil }
    self = metadata
    validator = validator.fitForHeaders
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
    let good = done == nil ? (length <= total ?? .max ? length : 0) : segments(length: length)?.length
    return HeldPart(
      length: good ?? 0, validator: validator, total: total, encoding: encoding, isDecoded: isDecoded == true,
      effectiveURL: answeredBy, trust: trust)
  }

  /// The segments of a part of that length; nil if the file has none, or the ranges are not those of such a part.
  func segments(length: Int64) -> SegmentMap? {
    guard let done, let total, length <= total, ranges.count == done.count, ranges.first?.lowerBound == 0,
      (ranges.last?.upperBound ?? 0) < length
    else { return nil }
    return SegmentMap(done: ranges, total: total)
  }

  /// How many bytes of the body a part of that length holds.
  func bytes(length: Int64) -> Int64 {
    done == nil
      ? length : ranges.reduce(0) { $0 + min($1.upperBound + 1, length) - min($1.lowerBound, length) }
  }

  private var ranges: [ClosedRange<Int64>] {
    (done ?? []).compactMap { $0.count == 2 && $0[0] >= 0 && $0[0] <= $0[1] ? $0[0]...$0[1] : nil }
  }
}

/// The names beside a final name under which its bytes wait: `x.part`, and its metadata `x.part.json`.
struct PartialName: Sendable, Equatable {
  private let name: String

  init(_ name: String) { self.name = name }

  init?(ofMetadata name: String) {
    let ending = Self.metadataSuffix.utf8
    guard name.utf8.count > ending.count, name.utf8.suffix(ending.count).elementsEqual(ending) else { return nil }
    self.init(String(decoding: name.utf8.dropLast(ending.count), as: UTF8.self))
  }

  var part: String { name + Self.partSuffix }
  var metadata: String { name + Self.metadataSuffix }

  private static let partSuffix = ".part"
  static let metadataSuffix = ".part.json"
  private static let draftSuffix = ".part.json.new"

  /// The name of new metadata until it replaces the current one: each dlm of this user can compute it, nobody else.
  /// - Parameter number: 0; a higher one where another user has put a file under the lower names.
  func draft(_ secret: UserSecret, _ number: Int) -> String {
    secret.tag("draft \(number)", metadata) + Self.draftSuffix
  }

  /// Whether a name ends as dlm's own files do: none gets such a name from an address or a server.
  static func isReserved(_ name: Substring) -> Bool { hasEnding(name) { [partSuffix, metadataSuffix, draftSuffix] } }

  /// Whether no finished file may have the name. It may be `x.part`, which without metadata is never dlm's.
  static func isMetadata(_ name: String) -> Bool { hasEnding(name[...]) { [metadataSuffix, draftSuffix] } }

  /// Compares as a reader sees names, and as a file system that folds case does (ext4's casefold, APFS, NTFS, FAT).
  private static func hasEnding(_ name: Substring, of endings: () -> [String]) -> Bool {
    guard name.utf8.withContiguousStorageIfAvailable({ mayHaveEnding($0) }) ?? true else { return false }
    let folded = folded(name)
    return endings().contains { folded.reversed().starts(with: $0.uppercased().unicodeScalars.reversed()) }
  }

  private static func mayHaveEnding(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    guard name.count >= 2 else { return false }
    let (first, last) = (name[name.count - 2], name[name.count - 1])
    // After a dot, a blank or a byte outside ASCII, the whole names must be compared.
    func isOpen(_ byte: UInt8) -> Bool { byte >= 0x80 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: " ") }
    return switch last | 0x20 {
    case _ where isOpen(last): true
    case UInt8(ascii: "t"): isOpen(first) || first | 0x20 == UInt8(ascii: "r")
    case UInt8(ascii: "n"): isOpen(first) || first | 0x20 == UInt8(ascii: "o")
    case UInt8(ascii: "w"): isOpen(first) || first | 0x20 == UInt8(ascii: "e")
    default: false
    }
  }

  /// Upper-case, because "ſ" folds to "S". Without invisible characters, and without the marks, dots and blanks after
  /// the last letter, which some file systems drop.
  private static func folded(_ name: Substring) -> [Unicode.Scalar] {
    var scalars = name.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }[...]
    while let last = scalars.last, isTrailing(last) { scalars.removeLast() }
    return scalars.flatMap { $0.properties.uppercaseMapping.unicodeScalars }
  }

  private static func isTrailing(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark, .format: true
    default: scalar == "." || scalar.properties.isWhitespace || scalar.properties.isGraphemeExtend
    }
  }
}
