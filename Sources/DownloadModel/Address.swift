/// A web address (RFC 3986) that dlm can fetch: absolute, `http` or `https`, without fragment.
///
/// Credentials in the address (`https://user:secret@host/`) are kept for the wire only: `description` and
/// `key` never hold them, so no message, log or index can show or store one.
public struct Address: Sendable {
  public enum Scheme: String, Sendable { case http, https }

  /// What the transport sends: with credentials, percent-encoded, without fragment.
  public var wireText: String { parts.wireText }
  /// The address without credentials: for people, logs and the index.
  public var key: String { parts.key }
  public var scheme: Scheme { parts.scheme }

  /// Behind a reference, since an address is handed on at each step of a download.
  private let parts: Parts

  private final class Parts: Sendable {
    let wireText: String
    let key: String
    let scheme: Scheme
    let hostAndPort: String
    /// Offsets in the bytes of `key`.
    let hostEnd: Int
    let authorityEnd: Int
    let pathEnd: Int
    /// Of `wireText`, hashed once: a download is looked up by its address at several steps.
    let hash: Int

    init(
      _ wireText: String, _ key: String, _ scheme: Scheme, _ hostAndPort: String, _ hostEnd: Int,
      _ authorityEnd: Int, _ pathEnd: Int
    ) {
      self.wireText = wireText
      self.key = key
      self.scheme = scheme
      self.hostAndPort = hostAndPort
      self.hostEnd = hostEnd
      self.authorityEnd = authorityEnd
      self.pathEnd = pathEnd
      hash = wireText.hashValue
    }
  }

  /// Parses one address. Blanks and bytes above ASCII in path or query are percent-encoded, and a host's name is written
  /// in ASCII (RFC 5891), as browsers do.
  public init(_ text: some StringProtocol) throws(Malformed) {
    var bytes = Array(text.utf8)
    guard !bytes.isEmpty else { throw .empty }
    if bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) { throw .controlCharacter }
    if let hash = bytes.firstIndex(of: UInt8(ascii: "#")) { bytes.removeSubrange(hash...) }

    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      bytes[colon...].starts(with: "://".utf8)
    else { throw .noScheme }
    guard let scheme = Scheme(rawValue: String(decoding: bytes[..<colon], as: UTF8.self).lowercased())
    else { throw .unsupportedScheme(String(decoding: bytes[..<colon], as: UTF8.self)) }

    let authorityStart = colon + 3
    var authorityEnd = bytes[authorityStart...].firstIndex { Self.endsAuthority($0) } ?? bytes.count
    let at = bytes[authorityStart..<authorityEnd].lastIndex(of: UInt8(ascii: "@"))
    let hostStart = at.map { $0 + 1 } ?? authorityStart
    let length = bytes.count
    var hostEnd = try Self.endOfHost(bytes[hostStart..<authorityEnd])
    if bytes[hostStart..<hostEnd].contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "%") }),
      bytes[hostStart] != UInt8(ascii: "[")
    {
      guard let name = InternationalHost.ascii(bytes[hostStart..<hostEnd]) else {
        throw .badInternationalHost
      }
      bytes.replaceSubrange(hostStart..<hostEnd, with: name)
      hostEnd = hostStart + name.count
      authorityEnd += bytes.count - length
    }
    // RFC 3986 §6.2.2.1: neither cares for case, so one file must not count as two.
    for index in Array(0..<colon) + Array(hostStart..<hostEnd)
    where bytes[index] >= 0x41 && bytes[index] <= 0x5A {
      bytes[index] |= 0x20
    }

    Self.percentEncode(&bytes, from: authorityEnd)
    let removed = hostStart - authorityStart
    let key =
      removed == 0
      ? String(decoding: bytes, as: UTF8.self)
      : String(decoding: bytes[..<authorityStart] + bytes[hostStart...], as: UTF8.self)
    let wireText = removed == 0 ? key : Self.withPlainLogin(bytes, authorityStart, hostStart)
    let query = bytes[authorityEnd...].firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
    let hostAndPort = String(decoding: bytes[hostStart..<authorityEnd], as: UTF8.self)
    parts = Parts(
      wireText, key, scheme, hostAndPort, hostEnd - removed, authorityEnd - removed, query - removed)
  }

  /// Host and port as written, lower-cased: what a connection and a per-host limit belong to.
  public var hostAndPort: String { parts.hostAndPort }

  public var host: String { String(piece(scheme.rawValue.utf8.count + 3, parts.hostEnd)) }

  /// The last segment of the path as written (still percent-encoded); empty for `http://host/` or `…/folder/`.
  public var lastPathSegment: Substring {
    let path = piece(parts.authorityEnd, parts.pathEnd)
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return path[path.utf8.index(after: slash)...]
  }

  /// Whether the address carries credentials of its own.
  public var hasCredentials: Bool { wireText.utf8.count != key.utf8.count }

  private func piece(_ start: Int, _ end: Int) -> Substring {
    let utf8 = key.utf8
    return key[utf8.index(utf8.startIndex, offsetBy: start)..<utf8.index(utf8.startIndex, offsetBy: end)]
  }
}

extension Address {
  /// Why a text is no address. The words for people are the front door's.
  public enum Malformed: Error, Equatable, Sendable {
    case empty
    case controlCharacter
    case noScheme
    case unsupportedScheme(String)
    case noHost
    case badHost
    /// Its host is not written in ASCII, and cannot be (RFC 5891).
    case badInternationalHost
    case badPort
  }

  /// The login ends at the last `@` (WHATWG URL), where libcurl takes the first: those before are encoded.
  private static func withPlainLogin(_ bytes: [UInt8], _ start: Int, _ host: Int) -> String {
    let login = bytes[start..<host - 1].split(
      separator: UInt8(ascii: "@"), omittingEmptySubsequences: false
    ).joined(separator: "%40".utf8)
    return String(decoding: Array(bytes[..<start]) + login + bytes[(host - 1)...], as: UTF8.self)
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?")
  }

  /// Where the host of `host[:port]` or `[v6]:port` ends; refuses an empty host and a port outside 1…65535.
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
    let hex = Array("0123456789ABCDEF".utf8)
    var encoded = Array(bytes[..<start])
    for byte in bytes[start...] {
      if byte == 0x20 || byte >= 0x80 {
        encoded += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
      } else {
        encoded.append(byte)
      }
    }
    bytes = encoded
  }
}

extension Address: Hashable, CustomStringConvertible {
  /// Equal when the wire form is equal: an address with credentials never answers for one without (RFC 9111 §4).
  public static func == (left: Address, right: Address) -> Bool {
    left.parts === right.parts
      || (left.parts.hash == right.parts.hash && left.wireText == right.wireText)
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(parts.hash) }
  public var description: String { key }
}
