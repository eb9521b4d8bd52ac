import DownloadModel
import FoundationEssentials
import Synchronization

/// The comparison of one file with the checksum that it must have, if there is one.
struct DigestCheck: ~Copyable, Sendable {
  let expected: ContentDigest?
  private var hasher: ContentHasher?
  /// Bytes of the file, from its start, that the hasher has taken.
  private var hashed: Int64 = 0

  init(_ expected: ContentDigest?) {
    self.expected = expected
    if let expected { hasher = ContentHasher(expected.algorithm) }
  }

  /// Hashes bytes only if they follow those hashed so far: what an earlier run left is not hashed here.
  mutating func take(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
    guard offset == hashed, hasher != nil else { return }
    hasher?.update(bytes)
    hashed += Int64(bytes.count)
  }

  func verdict(of length: Int64) -> DigestVerdict {
    guard let expected else { return .none }
    switch hasher {
    case .some(let hasher) where hashed == length: return DigestVerdict(expected: expected, found: hasher.finish())
    default: return .unread(expected)
    }
  }
}

enum DigestVerdict: Sendable, Equatable {
  case none
  case match
  case mismatch(expected: ContentDigest, found: ContentDigest)
  /// Some bytes came before this run, so the file must be read.
  case unread(ContentDigest)

  init(expected: ContentDigest, found: ContentDigest) {
    self = expected == found ? .match : .mismatch(expected: expected, found: found)
  }
}

/// Whether a whole file is accepted, by its checksum and the proof that is required.
enum Verification {
  /// - Returns: nil if its bytes, or a copy's, were wrong for the first time: then it must be fetched past every cache.
  /// - Throws: `.digest` if they were wrong again, `.unproven` if there is less proof than required.
  static func judge(
    _ verdict: DigestVerdict, _ proof: Proof, of download: FileDownload
  ) throws(DownloadError) -> Proof? {
    switch verdict {
    case .match: return .digest
    case .mismatch(let expected, let found):
      if download.plan.mayAsk, !download.look({ $0.doubts.contains(.caches) }) {
        try download.access { reception throws(DownloadError) in try reception.startAgainAfterWrongBytes() }
        return nil
      }
      throw DownloadError(
        .digest, cause: .detail("\(expected.algorithm) is \(found.hex), not \(expected.hex)"),
        address: download.plan.address.key, path: try setAside(download), activity: "comparing checksums")
    case .none, .unread:
      let required = download.plan.rules.requiredProof
      guard proof >= required else { throw unproven(proof, required) }
      return proof
    }
  }

  static func unproven(_ proof: Proof, _ required: Proof) -> DownloadError {
    DownloadError(.unproven, cause: .detail(lack(proof, required)), activity: "proving")
  }

  static func lack(_ proof: Proof, _ required: Proof) -> String {
    switch (required, proof) {
    case (.digest, _): "no checksum is known for it"
    case (_, .nothing): "the server gave no length, and only the closing connection ended the file"
    default: "the server gave no length"
    }
  }

  /// Sets wrong bytes aside under a name of their own, and returns the path.
  private static func setAside(_ download: FileDownload) throws(DownloadError) -> String {
    let wanted = download.look { $0.finalName }
    var number = 0
    while true {
      let name = wanted + (number == 0 ? ".rejected" : ".rejected.\(number)")
      let named = try download.access { reception throws(DownloadError) in try reception.take(name, replacing: false) }
      if named != nil { return download.plan.directory.path(of: name) }
      number += 1
    }
  }
}

/// `Repr-Digest` (RFC 9530 §3), of the whole representation also in a 206: `sha-256=:base64:, sha-512=:base64:`.
enum ReprDigest {
  /// The strongest digest that is understood. A malformed member is ignored: it must not fail a file that is right.
  static func strongest(_ field: String) -> ContentDigest? {
    field.split(separator: ",").compactMap { member(OptionalWhiteSpace.trimmed($0)) }
      .max { $0.algorithm.length < $1.algorithm.length }
  }

  private static func member(_ text: Substring) -> ContentDigest? {
    guard let equals = text.firstIndex(of: "=") else { return nil }
    // RFC 9530 §5 deprecates the other algorithms.
    let algorithms: [String: ContentDigest.Algorithm] = ["sha-256": .sha256, "sha-512": .sha512]
    // RFC 8941 allows parameters after the value; they mean nothing here.
    let value = text[text.index(after: equals)...].prefix { $0 != ";" }
    guard let algorithm = algorithms[text[..<equals].lowercased()], value.count > 2, value.first == ":",
      value.last == ":",
      let data = Data(base64Encoded: String(value.dropFirst().dropLast()))
    else { return nil }
    return ContentDigest(algorithm, Array(data))
  }
}

/// The checksums of a list such as SHA256SUMS, and which of them a run has used. By file name, without the folders of
/// `./pool/x.deb`; where two lines give one name different checksums of one algorithm, neither is used.
public final class ChecksumList: Sendable {
  private let entries: [String: ContentDigest]
  private let used = Lock<Set<String>>([])
  /// Numbers, from 1, of lines that are neither checksums, comments nor blank.
  public let malformedLines: [Int]
  /// Names whose lines contradict each other.
  public let ambiguousNames: [String]

  public init(_ text: [UInt8]) {
    var entries: [String: ContentDigest] = [:]
    var ambiguous: Set<String> = []
    var malformed: [Int] = []
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      switch ChecksumLine(String(decoding: line, as: UTF8.self)) {
      case .blank: break
      case .malformed: malformed.append(index + 1)
      case .entry(let name, let digest):
        if let other = entries[name], other.algorithm == digest.algorithm, other != digest { ambiguous.insert(name) }
        // A list may hold several algorithms: the strongest counts.
        if digest.algorithm.length >= entries[name]?.algorithm.length ?? 0 { entries[name] = digest }
      }
    }
    for name in ambiguous { entries[name] = nil }
    self.entries = entries
    malformedLines = malformed
    ambiguousNames = ambiguous.sorted()
  }

  public var count: Int { entries.count }

  /// The checksum of a file, which counts as used.
  func digest(of name: String) -> ContentDigest? {
    guard let digest = entries[name] else { return nil }
    used.withLock { _ = $0.insert(name) }
    return digest
  }

  /// Names that no file of the run had.
  public var unusedNames: [String] {
    let used = used.withLock { $0 }
    return entries.keys.filter { !used.contains($0) }.sorted()
  }
}

/// One line of a checksum list, as coreutils' `sha256sum` (`HEX name`, `HEX *name`) and BSD's `sha256` (`SHA256 (name)
/// = HEX`) write it. A backslash before the line says that the name is escaped.
enum ChecksumLine: Equatable {
  case blank
  case malformed
  case entry(name: String, ContentDigest)

  /// Reads bytes, because a combining mark after a blank or slash would form one `Character` with it.
  init(_ line: String) {
    var line = line.utf8[...]
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    if line.allSatisfy(OptionalWhiteSpace.contains) || line.first == UInt8(ascii: "#") {
      self = .blank
      return
    }
    let isEscaped = line.first == UInt8(ascii: "\\")
    if isEscaped { line.removeFirst() }
    guard let (name, digest) = Self.coreutils(line) ?? Self.bsd(line),
      let segment = (isEscaped ? Self.unescaped(name) : Array(name)).split(separator: UInt8(ascii: "/")).last
    else {
      self = .malformed
      return
    }
    self = .entry(name: String(decoding: segment, as: UTF8.self), digest)
  }

  private static func coreutils(_ line: Substring.UTF8View) -> (Substring.UTF8View, ContentDigest)? {
    guard let blank = line.firstIndex(of: UInt8(ascii: " ")), let digest = ContentDigest(hex: Substring(line[..<blank]))
    else { return nil }
    // One blank, then a blank (text) or an asterisk (binary). Some tools write only one blank.
    var name = line[line.index(after: blank)...]
    if let mark = name.first, mark == UInt8(ascii: " ") || mark == UInt8(ascii: "*") { name.removeFirst() }
    return name.isEmpty ? nil : (name, digest)
  }

  private static func bsd(_ line: Substring.UTF8View) -> (Substring.UTF8View, ContentDigest)? {
    guard let open = line.firstRange(of: " (".utf8), let close = line.ranges(of: ") = ".utf8).last,
      open.upperBound <= close.lowerBound,
      let algorithm = ContentDigest.Algorithm(
        rawValue: String(decoding: line[..<open.lowerBound].filter { $0 != UInt8(ascii: "-") }, as: UTF8.self)
          .lowercased()),
      let digest = ContentDigest(algorithm, hex: Substring(line[close.upperBound...]))
    else { return nil }
    return (line[open.upperBound..<close.lowerBound], digest)
  }

  private static func unescaped(_ name: Substring.UTF8View) -> [UInt8] {
    var (text, rest) = ([UInt8](), name)
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      let marks = [UInt8(ascii: "n"): UInt8(ascii: "\n"), UInt8(ascii: "r"): UInt8(ascii: "\r")]
      if let escaped = rest.popFirst() { text.append(marks[escaped] ?? escaped) }
    }
    return text
  }
}
