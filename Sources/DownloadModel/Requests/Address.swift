import CIDN

/// A URL (RFC 3986) that dlm can download: absolute, over HTTP, FTP, SSH or S3, or on this machine, without fragment.
/// Its credentials are sent, but `description` and `key` omit them, so that no message, log or index contains them. Or
/// a `data:` URL that contains the file (`init(data:)`).
public struct Address: Sendable, Hashable, CustomStringConvertible {
  /// The text that the transport sends: with credentials, percent-encoded, without fragment.
  package var wireText: String { parts.wireText }
  /// The URL without credentials: for messages, logs and the index.
  package var key: String { parts.key }
  /// Identifies the file: `key` without a signature in its query (`SignedQuery`, HTTP rule 30).
  package var resource: String { parts.resource }
  package var resourceHash: Int { parts.resourceHash }
  package var scheme: Scheme { parts.scheme }

  /// Behind a reference, because an address is passed on at each step of a download.
  private let parts: Parts

  private final class Parts: Sendable {
    let wireText: String
    let key: String
    let resource: String
    let scheme: Scheme
    let hostAndPort: String
    /// Offsets in the bytes of `key`.
    let (hostEnd, nameStart, pathEnd): (Int, Int, Int)
    /// The hashes of `wireText` and `resource`, computed once: a download is looked up by its address at several steps.
    let (hash, resourceHash): (Int, Int)

    /// - Parameter bytes: the whole URL, normalized; the ranges are positions in it.
    init(_ scheme: Scheme, _ bytes: [UInt8], authority: Range<Int>, host: Range<Int>) {
      let removed = host.lowerBound - authority.lowerBound
      let key =
        removed == 0
        ? String(utf8: bytes)
        : String(utf8: bytes[..<authority.lowerBound] + bytes[host.lowerBound...])
      let query = bytes[authority.upperBound...].firstIndex(of: .questionMark) ?? bytes.count
      let slash = bytes[authority.upperBound..<query].lastIndex(of: .slash)
      self.scheme = scheme
      self.key = key
      wireText = removed == 0 ? key : Address.withPlainLogin(bytes, authority.lowerBound, host.lowerBound)
      resource = query == bytes.count ? key : SignedQuery.unsigned(key)
      hostAndPort = String(utf8: bytes[host.lowerBound..<authority.upperBound])
      hostEnd = host.upperBound - removed
      nameStart = (slash.map { $0 + 1 } ?? query) - removed
      pathEnd = query - removed
      hash = wireText.hashValue
      resourceHash = wireText.utf8.count == resource.utf8.count ? hash : resource.hashValue
    }
  }

  /// Percent-encodes blanks and bytes above ASCII, and converts an international host name (RFC 5891), as browsers do.
  package init(_ text: some StringProtocol) throws(Malformed) { try self.init(utf8: Array(text.utf8)) }

  /// The same from valid UTF-8.
  package init(utf8 text: [UInt8]) throws(Malformed) {
    var bytes = text
    guard !bytes.isEmpty else { throw .empty }
    if bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) { throw .controlCharacter }
    if bytes.prefix(3).elementsEqual("s3:".utf8, by: { $0 | 0x20 == $1 | 0x20 }) { Self.normalizeKey(&bytes) }
    if let hash = bytes.firstIndex(of: .numberSign) { bytes.removeSubrange(hash...) }

    let (scheme, colon) = try Self.scheme(bytes)
    let authorityStart = colon + 3
    if scheme == .file { try Self.removeThisMachine(&bytes, at: authorityStart) }
    var authorityEnd =
      bytes[authorityStart...].firstIndex { $0 == .slash || $0 == .questionMark } ?? bytes.count
    let at = bytes[authorityStart..<authorityEnd].lastIndex(of: .atSign)
    let hostStart = at.map { $0 + 1 } ?? authorityStart
    var hostEnd = scheme == .file ? hostStart : try Self.endOfHost(bytes[hostStart..<authorityEnd])
    if bytes[hostStart..<hostEnd].contains(where: { $0 >= 0x80 || $0 == .percent }),
      bytes[hostStart] != UInt8(ascii: "[")
    {
      guard let name = asciiHost(bytes[hostStart..<hostEnd]) else { throw .badInternationalHost }
      bytes.replaceSubrange(hostStart..<hostEnd, with: name)
      authorityEnd += hostStart + name.count - hostEnd
      hostEnd = hostStart + name.count
    }
    // RFC 3986 §6.2.2.1: scheme and host are case-insensitive, so one file must not count as two.
    Self.lowercase(&bytes, 0..<colon)
    Self.lowercase(&bytes, hostStart..<hostEnd)

    if !scheme.hasHeads { try Self.normalizeServerPath(&bytes, from: authorityEnd) }
    Self.percentEncode(&bytes, from: authorityEnd)
    parts = Parts(scheme, bytes, authority: authorityStart..<authorityEnd, host: hostStart..<hostEnd)
  }

  /// Removes the host of a `file:` URL, which must be empty or `localhost` (RFC 8089 §2).
  private static func removeThisMachine(_ bytes: inout [UInt8], at start: Int) throws(Malformed) {
    let end = bytes[start...].firstIndex(of: .slash) ?? bytes.count
    guard ["", "localhost"].contains(String(utf8: bytes[start..<end]).lowercased()), end < bytes.count else {
      throw .hostOfFile
    }
    bytes.removeSubrange(start..<end)
  }

  /// A URL that contains its file (RFC 2397); only the user or a list may name one.
  package init?(data text: String) {
    guard DataAddress(text) != nil else { return nil }
    let bytes = PercentEncoding.encoded(text.utf8) { $0 >= 0x80 }
    let end = bytes.count
    parts = Parts(.data, bytes, authority: end..<end, host: end..<end)
  }

  /// Its content; `nil` for all other schemes.
  package var data: DataAddress? { scheme == .data ? DataAddress(key) : nil }

  private static func lowercase(_ bytes: inout [UInt8], _ range: Range<Int>) {
    // A change copies all bytes, and most texts need none.
    for index in range where bytes[index] != bytes[index].lowercased { bytes[index] = bytes[index].lowercased }
  }

  /// - Returns: the scheme, and the position of its colon.
  private static func scheme(_ bytes: [UInt8]) throws(Malformed) -> (Scheme, Int) {
    guard let colon = bytes.firstIndex(of: .colon), bytes[colon...].starts(with: "://".utf8)
    else { throw .noScheme }
    for scheme in [Scheme.http, .https]
    where bytes[..<colon].elementsEqual(scheme.rawValue.utf8, by: { $0 | 0x20 == $1 }) {
      return (scheme, colon)
    }
    let name = String(utf8: bytes[..<colon])
    guard let scheme = Scheme(rawValue: name.lowercased()), scheme != .data else { throw .unsupportedScheme(name) }
    return (scheme, colon)
  }

  /// A key may have any character, so that only a version at its end is a query. Each byte has one form: libcurl, the
  /// store and the signature must see the same path. A `%` that encodes a byte stays.
  private static func normalizeKey(_ bytes: inout [UInt8]) {
    let start = bytes.dropFirst(5).firstIndex(of: .slash) ?? bytes.count
    let end = bytes[start...].place(of: "?versionId=")?.lowerBound ?? bytes.count
    let octets = PercentEncoding.octets(bytes[start..<end], isStrict: false) ?? []
    let key = PercentEncoding.encoded(octets) { !$0.isLetterOrDigit && !"-._~/".utf8.contains($0) }
    bytes.replaceSubrange(start..<end, with: key)
  }

  /// A path of a file server has no query, and its bytes become commands, in which a line end would start another.
  /// `;type=i` (RFC 1738 §3.2.2) is removed, because dlm receives each file unchanged.
  private static func normalizeServerPath(_ bytes: inout [UInt8], from start: Int) throws(Malformed) {
    let path = String(utf8: bytes[start...])
    let end = path.count >= 7 ? path.utf8.index(path.endIndex, offsetBy: -7) : path.startIndex
    if [";type=i", ";type=a"].contains(path[end...].lowercased()) { bytes.removeLast(7) }
    guard let octets = PercentEncoding.octets(bytes[start...], isStrict: false), !octets.contains(where: { $0 < 0x20 })
    else { throw .controlCharacter }
    bytes.replaceSubrange(start..., with: PercentEncoding.encoded(bytes[start...]) { $0 == .questionMark })
  }

  /// Host and port as written, in lower case: the key of connections and of per-host limits.
  package var hostAndPort: String { parts.hostAndPort }

  /// In lower case, without the port.
  public var host: String {
    scheme == .data ? "" : String(piece(scheme.rawValue.utf8.count + 3, parts.hostEnd))
  }

  /// The last segment of the path as written (still percent-encoded); empty for `http://host/` or `…/folder/`.
  package var lastPathSegment: Substring { piece(parts.nameStart, parts.pathEnd) }

  /// The path as written, with its first slash; empty for `http://host`.
  package var path: Substring {
    let whole = piece(parts.hostEnd, parts.pathEnd)
    return whole.firstIndex(of: "/").map { whole[$0...] } ?? ""
  }

  /// As written, without its question mark; `nil` without a query.
  package var query: Substring? {
    parts.pathEnd < key.utf8.count ? piece(parts.pathEnd + 1, key.utf8.count) : nil
  }

  package var hasCredentials: Bool { wireText.utf8.count != key.utf8.count }

  /// `user:password@` as sent; empty for none. A secret.
  package var login: Substring {
    let wire = wireText.utf8
    let start = wire.index(wire.startIndex, offsetBy: scheme.rawValue.utf8.count + 3)
    return wireText[start..<wire.index(start, offsetBy: wire.count - key.utf8.count)]
  }

  /// Whether both identify the same file, perhaps with other credentials.
  package func isSameResource(as other: Address) -> Bool {
    parts === other.parts || (resourceHash == other.resourceHash && resource == other.resource)
  }

  /// Whether scheme, host and port are equal (RFC 6454 §4).
  package func isSameOrigin(as other: Address) -> Bool {
    // Usually it is the same address.
    self == other || scheme == other.scheme && host == other.host && port == other.port
  }

  package var port: Int { Int(hostAndPort.dropFirst(host.count + 1)) ?? scheme.defaultPort }

  private func piece(_ start: Int, _ end: Int) -> Substring {
    let utf8 = key.utf8
    return key[utf8.index(utf8.startIndex, offsetBy: start)..<utf8.index(utf8.startIndex, offsetBy: end)]
  }

  /// Why a text is not a URL.
  package enum Malformed: Error, Equatable, Sendable {
    case empty
    case controlCharacter
    case noScheme
    case unsupportedScheme(String)
    case noHost
    case badHost
    /// A `file:` URL with a host other than `localhost`, or without a path.
    case hostOfFile
    /// The host is not in ASCII and cannot be converted (RFC 5891).
    case badInternationalHost
    case badPort
    /// For `data:`: its comma is missing, or its base64 is damaged.
    case badData
  }

  /// The login ends at the last `@` (WHATWG URL), but libcurl ends it at the first, so all but the last are encoded.
  private static func withPlainLogin(_ bytes: [UInt8], _ start: Int, _ host: Int) -> String {
    String(utf8: bytes[..<start] + plainLogin(bytes[start..<host - 1]) + bytes[(host - 1)...])
  }

  package static func plainLogin(_ login: ArraySlice<UInt8>) -> [UInt8] {
    login.flatMap { $0 == .atSign ? Array("%40".utf8) : [$0] }
  }

  /// The end of the host in `host[:port]` or `[v6]:port`; throws for an empty host and a port outside 1…65535.
  package static func endOfHost(_ authority: ArraySlice<UInt8>) throws(Malformed) -> Int {
    guard let first = authority.first else { throw .noHost }
    var end = authority.endIndex
    if first == UInt8(ascii: "[") {
      guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { throw .badHost }
      end = close + 1
      guard end == authority.endIndex || authority[end] == .colon else { throw .badHost }
    } else if let colon = authority.firstIndex(of: .colon) {
      end = colon
    }
    guard end > authority.startIndex else { throw .noHost }
    if authority[..<end].contains(where: isForbiddenInHost) { throw .badHost }
    if end < authority.endIndex {
      let digits = String(utf8: authority[(end + 1)...])
      guard let port = UInt16(digits), port > 0 else { throw .badPort }
    }
    return end
  }

  private static func isForbiddenInHost(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x20, 0x22, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B...0x7D: true  // A blank and "<>\^`{|}
    default: false
    }
  }

  /// Percent-encodes blanks and bytes above ASCII (RFC 3986 §2.1).
  private static func percentEncode(_ bytes: inout [UInt8], from start: Int) {
    func mustEncode(_ byte: UInt8) -> Bool { byte == 0x20 || byte >= 0x80 }
    guard bytes[start...].contains(where: mustEncode) else { return }
    bytes.replaceSubrange(start..., with: PercentEncoding.encoded(bytes[start...], where: mustEncode))
  }

  /// Equal if the wire form is equal: an answer for credentials never serves a request without them (RFC 9111 §4).
  public static func == (left: Address, right: Address) -> Bool {
    left.parts === right.parts || (left.parts.hash == right.parts.hash && left.wireText == right.wireText)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(parts.hash) }

  /// The URL without its login.
  public var description: String { key }
}

/// A host's name in ASCII (RFC 5891, UTS #46), so that both spellings are one address; `nil` if it cannot be converted.
/// - Parameter host: UTF-8; octets may be percent-encoded (RFC 3986 §3.2.2).
private func asciiHost(_ host: ArraySlice<UInt8>) -> [UInt8]? {
  // A zero byte would end the C string early.
  guard let octets = PercentEncoding.octets(host, isStrict: true), String(validating: octets, as: UTF8.self) != nil,
    !octets.contains(0)
  else { return nil }
  var converted: UnsafeMutablePointer<CChar>?
  let status = (octets + [0]).withUnsafeBytes { bytes in
    dlm_host_to_ascii(bytes.assumingMemoryBound(to: CChar.self).baseAddress, &converted)
  }
  guard status == IDN2_OK.rawValue, let converted else { return nil }
  defer { idn2_free(converted) }
  let name = Array(String(cString: converted).utf8)
  // An encoded octet may be a separator; then the text is not a host name.
  return !name.isEmpty && name.allSatisfy { $0.isLetterOrDigit || "-._".utf8.contains($0) } ? name : nil
}

extension UInt8 {
  /// Whether it is an ASCII digit.
  package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  /// Whether it is an ASCII letter or digit.
  package var isLetterOrDigit: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) || isDigit
  }

  /// Whether it is a blank, a tab or a carriage return.
  package var isBlank: Bool { self == .blank || self == UInt8(ascii: "\t") || self == .carriageReturn }

  /// The lower-case letter of an upper-case ASCII letter, else itself.
  var lowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}

extension String {
  /// The text that UTF-8 bytes encode; invalid bytes become U+FFFD.
  @inlinable package init(utf8 bytes: some Collection<UInt8>) { self.init(decoding: bytes, as: UTF8.self) }
}
