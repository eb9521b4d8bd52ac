import CIDN

/// A web address (RFC 3986) that dlm can fetch: absolute, `http` or `https`, without fragment.
///
/// Credentials in the address (`https://user:secret@host/`) are sent, but never shown: `description` and `key` do not
/// contain them, so no message, log or index can show or store them.
public struct Address: Sendable {
  public enum Scheme: String, Sendable { case http, https }

  /// What the transport sends: with credentials, percent-encoded, without fragment.
  public var wireText: String { parts.wireText }
  /// The address without credentials: for messages, logs and the index.
  public var key: String { parts.key }
  /// Which file it is: `key` without what only signs it (`SignedQuery`). Other credentials or another signature make no
  /// other file of it (HTTP rule 30).
  public var resource: String { parts.resource }
  /// `resource.hashValue`, which was computed when the address was parsed.
  public var resourceHash: Int { parts.resourceHash }
  public var scheme: Scheme { parts.scheme }

  /// Behind a reference, because an address is passed on at each step of a download.
  private let parts: Parts

  private final class Parts: Sendable {
    let wireText: String
    let key: String
    let resource: String
    let scheme: Scheme
    let hostAndPort: String
    /// Offsets in the bytes of `key`.
    let hostEnd: Int
    let nameStart: Int
    let pathEnd: Int
    /// The hashes of `wireText` and `resource`, computed once: a download is looked up by its address at several steps.
    let hash: Int
    let resourceHash: Int

    init(
      _ wireText: String, _ key: String, _ resource: String, _ scheme: Scheme, _ hostAndPort: String, _ hostEnd: Int,
      _ nameStart: Int, _ pathEnd: Int
    ) {
      self.wireText = wireText
      self.key = key
      self.resource = resource
      self.scheme = scheme
      self.hostAndPort = hostAndPort
      self.hostEnd = hostEnd
      self.nameStart = nameStart
      self.pathEnd = pathEnd
      hash = wireText.hashValue
      resourceHash = wireText.utf8.count == resource.utf8.count ? hash : resource.hashValue
    }
  }

  /// Parses one address. Blanks and bytes above ASCII in path or query are percent-encoded, and an international host
  /// name is converted to ASCII (RFC 5891), as browsers do.
  public init(_ text: some StringProtocol) throws(Malformed) { try self.init(utf8: Array(text.utf8)) }

  /// The same for a text that is not in a String.
  /// - Parameter text: valid UTF-8.
  public init(utf8 text: [UInt8]) throws(Malformed) {
    var bytes = text
    guard !bytes.isEmpty else { throw .empty }
    if bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) { throw .controlCharacter }
    if let hash = bytes.firstIndex(of: UInt8(ascii: "#")) { bytes.removeSubrange(hash...) }

    let (scheme, colon) = try Self.scheme(bytes)
    let authorityStart = colon + 3
    var authorityEnd = bytes[authorityStart...].firstIndex { Self.endsAuthority($0) } ?? bytes.count
    let at = bytes[authorityStart..<authorityEnd].lastIndex(of: UInt8(ascii: "@"))
    let hostStart = at.map { $0 + 1 } ?? authorityStart
    let length = bytes.count
    var hostEnd = try Self.endOfHost(bytes[hostStart..<authorityEnd])
    if bytes[hostStart..<hostEnd].contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "%") }),
      bytes[hostStart] != UInt8(ascii: "[")
    {
      guard let name = InternationalHost.ascii(bytes[hostStart..<hostEnd]) else { throw .badInternationalHost }
      bytes.replaceSubrange(hostStart..<hostEnd, with: name)
      hostEnd = hostStart + name.count
      authorityEnd += bytes.count - length
    }
    // RFC 3986 §6.2.2.1: scheme and host are case-insensitive, so one file must not count as two.
    Self.lowercase(&bytes, 0..<colon)
    Self.lowercase(&bytes, hostStart..<hostEnd)

    Self.percentEncode(&bytes, from: authorityEnd)
    let removed = hostStart - authorityStart
    let key =
      removed == 0
      ? String(decoding: bytes, as: UTF8.self)
      : String(decoding: bytes[..<authorityStart] + bytes[hostStart...], as: UTF8.self)
    let wireText = removed == 0 ? key : Self.withPlainLogin(bytes, authorityStart, hostStart)
    let query = bytes[authorityEnd...].firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
    let slash = bytes[authorityEnd..<query].lastIndex(of: UInt8(ascii: "/"))
    let nameStart = slash.map { $0 + 1 } ?? query
    let hostAndPort = String(decoding: bytes[hostStart..<authorityEnd], as: UTF8.self)
    parts = Parts(
      wireText, key, query == bytes.count ? key : SignedQuery.unsigned(key), scheme, hostAndPort,
      hostEnd - removed, nameStart - removed, query - removed)
  }

  private static func lowercase(_ bytes: inout [UInt8], _ range: Range<Int>) {
    for index in range where bytes[index] >= 0x41 && bytes[index] <= 0x5A { bytes[index] |= 0x20 }
  }

  /// - Returns: the scheme, and where its colon stands.
  private static func scheme(_ bytes: [UInt8]) throws(Malformed) -> (Scheme, Int) {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8)
    else { throw .noScheme }
    for scheme in [Scheme.http, .https]
    where bytes[..<colon].elementsEqual(scheme.rawValue.utf8, by: { $0 | 0x20 == $1 }) {
      return (scheme, colon)
    }
    throw .unsupportedScheme(String(decoding: bytes[..<colon], as: UTF8.self))
  }

  /// Host and port as written, in lower case: the key of connections and of per-host limits.
  public var hostAndPort: String { parts.hostAndPort }

  public var host: String { String(piece(scheme.rawValue.utf8.count + 3, parts.hostEnd)) }

  /// The last segment of the path as written (still percent-encoded); empty for `http://host/` or `…/folder/`.
  public var lastPathSegment: Substring { piece(parts.nameStart, parts.pathEnd) }

  /// The path as written, with its first slash; empty for `http://host`.
  public var path: Substring {
    let whole = piece(parts.hostEnd, parts.pathEnd)
    return whole.firstIndex(of: "/").map { whole[$0...] } ?? ""
  }

  /// Whether the address contains credentials.
  public var hasCredentials: Bool { wireText.utf8.count != key.utf8.count }

  /// Whether both ask for one file, perhaps with other credentials.
  public func isSameResource(as other: Address) -> Bool {
    parts === other.parts || (resourceHash == other.resourceHash && resource == other.resource)
  }

  /// Whether scheme, host and port are equal (RFC 6454 §4): a login or a header line of the user is meant for one
  /// origin.
  public func isSameOrigin(as other: Address) -> Bool {
    // Usually it is the same address.
    self == other || scheme == other.scheme && host == other.host && port == other.port
  }

  private var port: Int {
    Int(hostAndPort.dropFirst(host.count + 1)) ?? (scheme == .https ? 443 : 80)
  }

  private func piece(_ start: Int, _ end: Int) -> Substring {
    let utf8 = key.utf8
    return key[utf8.index(utf8.startIndex, offsetBy: start)..<utf8.index(utf8.startIndex, offsetBy: end)]
  }
}

extension Address {
  /// Why a text is not an address. The front door words the message.
  public enum Malformed: Error, Equatable, Sendable {
    case empty
    case controlCharacter
    case noScheme
    case unsupportedScheme(String)
    case noHost
    case badHost
    /// The host is not in ASCII and cannot be converted (RFC 5891).
    case badInternationalHost
    case badPort
  }

  /// The login ends at the last `@` (WHATWG URL), but libcurl ends it at the first, so all but the last are encoded.
  private static func withPlainLogin(_ bytes: [UInt8], _ start: Int, _ host: Int) -> String {
    let login = bytes[start..<host - 1].split(
      separator: UInt8(ascii: "@"), omittingEmptySubsequences: false
    ).joined(separator: "%40".utf8)
    return String(decoding: Array(bytes[..<start]) + login + bytes[(host - 1)...], as: UTF8.self)
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?")
  }

  /// The end of the host in `host[:port]` or `[v6]:port`; throws for an empty host and a port outside 1…65535.
  private static func endOfHost(_ authority: ArraySlice<UInt8>) throws(Malformed) -> Int {
    guard let first = authority.first else { throw .noHost }
    var end = authority.endIndex
    if first == UInt8(ascii: "[") {
      guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { throw .badHost }
      end = close + 1
      guard end == authority.endIndex || authority[end] == UInt8(ascii: ":") else { throw .badHost }
    } else if let colon = authority.firstIndex(of: UInt8(ascii: ":")) {
      end = colon
    }
    guard end > authority.startIndex else { throw .noHost }
    if authority[..<end].contains(where: { forbiddenInHost($0) }) { throw .badHost }
    if end < authority.endIndex {
      let digits = String(decoding: authority[(end + 1)...], as: UTF8.self)
      guard let port = UInt16(digits), port > 0 else { throw .badPort }
    }
    return end
  }

  private static func forbiddenInHost(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "\\"),
      UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
      true
    default: false
    }
  }

  private static func percentEncode(_ bytes: inout [UInt8], from start: Int) {
    guard bytes[start...].contains(where: { $0 == 0x20 || $0 >= 0x80 }) else { return }
    bytes = bytes[..<start] + PercentEncoding.encode(bytes[start...]) { $0 == 0x20 || $0 >= 0x80 }
  }
}

extension Address: Hashable, CustomStringConvertible {
  /// Equal when the wire form is equal: an answer for an address with credentials never serves one without (RFC 9111
  /// §4).
  public static func == (left: Address, right: Address) -> Bool {
    left.parts === right.parts
      || (left.parts.hash == right.parts.hash && left.wireText == right.wireText)
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(parts.hash) }
  public var description: String { key }
}

/// The name of a host as it is sent (RFC 5891; UTS #46): `bücher.example` is `xn--bcher-kva.example`.
///
/// Converted when an address is parsed, so that both spellings are one address: for limits, logins, the cache and the
/// log.
enum InternationalHost {
  /// - Parameter host: as written, in UTF-8; octets may be percent-encoded (RFC 3986 §3.2.2).
  /// - Returns: ASCII in lower case; nil if the name cannot be converted.
  static func ascii(_ host: some Collection<UInt8>) -> [UInt8]? {
    guard let octets = PercentEncoding.decodeStrictly(host), String(validating: octets, as: UTF8.self) != nil
    else { return nil }
    var converted: UnsafeMutablePointer<CChar>?
    // A zero byte would end the C string early.
    guard !octets.contains(0),
      (octets + [0]).withUnsafeBytes({ bytes in
        dlm_host_to_ascii(bytes.assumingMemoryBound(to: CChar.self).baseAddress, &converted)
      }) == IDN2_OK.rawValue, let converted
    else { return nil }
    defer { idn2_free(converted) }
    let name = Array(String(cString: converted).utf8)
    return !name.isEmpty && name.allSatisfy(isOfName) ? name : nil
  }

  /// An encoded octet may be a separator; then the text is not a host name.
  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "."), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

/// Percent-encoding (RFC 3986 §2.1); decodes one level.
public enum PercentEncoding {
  /// The text that encodes octets (RFC 3986 §2.1), in bytes.
  /// - Parameter mustEncode: which octets do not stand for themselves.
  public static func encode(
    _ octets: some Sequence<UInt8>, where mustEncode: (UInt8) -> Bool
  ) -> [UInt8] {
    let hex = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    for octet in octets {
      if mustEncode(octet) {
        encoded += [UInt8(ascii: "%"), hex[Int(octet >> 4)], hex[Int(octet & 15)]]
      } else {
        encoded.append(octet)
      }
    }
    return encoded
  }

  /// The octets that a text encodes; a `%` without two hex digits stays as it is.
  /// - Returns: nil if nothing is encoded.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return nil }
    return octets(Array(text.utf8), strict: false)
  }

  /// The octets of an RFC 8187 value; nil if a `%` lacks its two hex digits.
  public static func decodeStrictly(_ text: some StringProtocol) -> [UInt8]? {
    decodeStrictly(text.utf8)
  }

  /// The same for octets: the host of an address (RFC 3986 §3.2.2).
  static func decodeStrictly(_ text: some Collection<UInt8>) -> [UInt8]? {
    octets(Array(text), strict: true)
  }

  private static func octets(_ bytes: [UInt8], strict: Bool) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%") {
        if index + 2 < bytes.count, let high = digit(bytes[index + 1]), let low = digit(bytes[index + 2]) {
          decoded.append(high << 4 | low)
          index += 3
          continue
        }
        if strict { return nil }
      }
      decoded.append(bytes[index])
      index += 1
    }
    return decoded
  }

  /// The value of a hexadecimal digit of either case.
  static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension UInt8 {
  /// Whether it is a letter or a digit of ASCII.
  package var isLetterOrDigit: Bool {
    (0x61...0x7A).contains(self | 0x20) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
  }
}
