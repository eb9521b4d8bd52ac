/// The header lines that every request of a run has by the user's wish, as far as an answer may depend on them.
///
/// Each line that can select or unlock an answer is part of the key of what is stored (http.md 30). A short list of
/// harmless ones is not: of those an answer depends only if it says so (`Vary`, RFC 9111 §4.1; http.md 29).
public struct RequestFields: Sendable {
  private struct Field: Sendable, Equatable {
    /// Lower case.
    var name: String
    var value: String
  }

  private let keyed: [Field]
  private let harmless: [Field]
  /// Whether the request may leave no trace in a cache (`Cache-Control: no-store`, RFC 9111 §5.2.1.5).
  public let forbidsStoring: Bool

  /// What names the client, steers caches and connections on the way, or follows a request through logs: no server means
  /// another file by it.
  private static let harmlessNames: Set<String> = [
    "user-agent", "cache-control", "pragma", "connection", "keep-alive", "proxy-connection", "te", "priority",
    "dnt",
    "upgrade-insecure-requests", "traceparent", "tracestate", "x-request-id", "x-correlation-id",
  ]

  /// - Parameters:
  ///   - lines: `Name: value` as the user wrote them, without line ends.
  ///   - userAgent: sent where no line says another; empty for none.
  ///   - cookieJar: the path of the cookies that are kept between runs, which says who asks; nil for none.
  public init(_ lines: [String] = [], userAgent: String = "", cookieJar: String? = nil) {
    var fields: [Field] = []
    for line in lines {
      let field = Self.field(line)
      // The same line from a settings file and the command line says nothing more.
      if !fields.contains(field) { fields.append(field) }
    }
    if !userAgent.isEmpty, !fields.contains(where: { $0.name == "user-agent" }) {
      fields.append(Field(name: "user-agent", value: userAgent))
    }
    // A blank, which no field's name has.
    if let cookieJar { fields.append(Field(name: "cookie jar", value: cookieJar)) }
    // Stable: the order of lines with one name is part of what they say (RFC 9110 §5.3).
    let sorted = fields.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
    keyed = sorted.map(\.element).filter { !Self.harmlessNames.contains($0.name) }
    harmless = sorted.map(\.element).filter { Self.harmlessNames.contains($0.name) }
    let directives = fields.filter { $0.name == "cache-control" }.map(\.value).joined(separator: ",")
    forbidsStoring = FreshnessFields(cacheControl: directives).forbidsStoring
  }

  /// What tells these requests from others', as text; nil for nothing. It may hold secrets.
  var key: String? { keyed.isEmpty ? nil : Self.text(keyed) }

  /// The values of the fields that an answer's `Vary` names, as far as they are not in the key; nil for none.
  func values(namedBy vary: String) -> String? {
    let names = Set(vary.lowercased().split(separator: ",").map { Self.trimmed($0) })
    let named = harmless.filter { names.contains($0.name) }
    return named.isEmpty ? nil : Self.text(named)
  }

  /// Whether an answer depends on the cookies of its request (`Vary: Cookie`).
  static func isCookies(vary: String) -> Bool {
    vary.split(separator: ",").contains { trimmed($0).lowercased() == "cookie" }
  }

  /// `Vary: *`: nothing says what the answer depends on, so that no later request matches (RFC 9111 §4.1).
  static func isAny(vary: String) -> Bool { vary.split(separator: ",").contains { trimmed($0) == "*" } }

  private static func text(_ fields: [Field]) -> String { fields.map { "\($0.name):\($0.value)\n" }.joined() }

  private static func field(_ line: String) -> Field {
    // A semicolon is curl's way of sending a field without a value.
    let end = line.utf8.firstIndex { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ";") } ?? line.endIndex
    let value = end == line.endIndex ? "" : line[line.utf8.index(after: end)...]
    return Field(name: trimmed(line[..<end]).lowercased(), value: trimmed(value))
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let bytes = Array(text.utf8.drop(while: isBlank))
    return String(decoding: bytes[..<(bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? 0)], as: UTF8.self)
  }
}
