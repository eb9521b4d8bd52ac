import DownloadModel

/// The header lines that the user adds to every request of a run, as far as an answer may depend on them.
///
/// Lines that can select or unlock an answer are part of its trust mark (HTTP rule 30). An answer depends on a harmless
/// line only if its `Vary` names the field (RFC 9111 §4.1; HTTP rule 29).
struct RequestFields {
  private let keyed: [HeaderLine]
  private let harmless: [HeaderLine]
  /// RFC 9111 §5.2.1.
  let directives: RequestDirectives
  /// `Cache-Control: no-store` (RFC 9111 §5.2.1.5).
  var forbidsStoring: Bool { directives.forbidsStoring }

  /// Fields by which no server chooses another file.
  private static let harmlessNames: Set<String> = [
    "user-agent", "cache-control", "pragma", "connection", "keep-alive", "proxy-connection", "te", "priority", "dnt",
    "upgrade-insecure-requests", "traceparent", "tracestate", "x-request-id", "x-correlation-id",
  ]

  init(_ trust: Trust) {
    var fields: [HeaderLine] = []
    for line in trust.headerLines {
      let field = HeaderLine(line)
      // The same line in the settings file and on the command line counts once.
      if !fields.contains(field) { fields.append(field) }
    }
    if !trust.userAgent.isEmpty, !fields.contains(where: { $0.name == "user-agent" }) {
      fields.append(HeaderLine("User-Agent: \(trust.userAgent)"))
    }
    // Stable, because the order of lines with one name is part of their meaning (RFC 9110 §5.3).
    let sorted = fields.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
      .map(\.element)
    keyed = sorted.filter { !Self.harmlessNames.contains($0.name) }
    harmless = sorted.filter { Self.harmlessNames.contains($0.name) }
    func values(_ name: String) -> String? {
      let values = fields.filter { $0.name == name }.map(\.value)
      return values.isEmpty ? nil : values.joined(separator: ",")
    }
    directives = RequestDirectives(cacheControl: values("cache-control"), pragma: values("pragma"))
  }

  /// The fields that are not harmless, as text; `nil` without such fields. May hold secrets.
  var key: String? { keyed.isEmpty ? nil : Self.text(keyed) }

  /// The values of the harmless fields that an answer's `Vary` names; `nil` if it names none of them.
  func values(namedBy vary: String) -> String? {
    let named = harmless.filter { Self.names($0.name, vary: vary) }
    return named.isEmpty ? nil : Self.text(named)
  }

  /// Whether a `Vary` names a field, given in lower case. `*` means that no later request matches (RFC 9111 §4.1).
  static func names(_ field: String, vary: String) -> Bool {
    vary.split(separator: ",").contains {
      OptionalWhiteSpace.trimmed($0).utf8.elementsEqual(field.utf8) { $0 | 0x20 == $1 | 0x20 }
    }
  }

  private static func text(_ fields: [HeaderLine]) -> String { fields.map { "\($0.name):\($0.value)\n" }.joined() }
}
