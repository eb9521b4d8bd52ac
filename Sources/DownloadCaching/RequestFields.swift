import DownloadModel

/// The header lines that the user adds to every request of a run, as far as an answer may depend on them.
///
/// Each line that can select or unlock an answer is part of the key of what is stored (HTTP rule 30). A short
/// list of harmless ones is not: an answer depends on one of those only if its `Vary` names it (RFC 9111
/// §4.1; HTTP rule 29).
public struct RequestFields: Sendable {
  private struct Field: Sendable, Equatable {
    /// Lower case.
    var name: String
    var value: String
  }

  private let keyed: [Field]
  private let harmless: [Field]
  /// What the lines say about stored answers (RFC 9111 §5.2.1).
  public let directives: RequestDirectives
  /// Whether the request may leave no trace in a cache (`Cache-Control: no-store`, RFC 9111 §5.2.1.5).
  public var forbidsStoring: Bool { directives.forbidsStoring }

  /// Fields that name the client, steer caches and connections on the way, or follow a request through logs.
  /// No server chooses another file because of them.
  private static let harmlessNames: Set<String> = [
    "user-agent", "cache-control", "pragma", "connection", "keep-alive", "proxy-connection", "te", "priority",
    "dnt",
    "upgrade-insecure-requests", "traceparent", "tracestate", "x-request-id", "x-correlation-id",
  ]

  /// - Parameters:
  ///   - lines: `Name: value` as the user wrote them, without line ends.
  ///   - userAgent: sent unless a line gives another; empty for none.
  ///   - cookieJar: the path of the cookies that are kept between runs, which identify the user to servers;
  ///     nil for none.
  public init(_ lines: [String] = [], userAgent: String = "", cookieJar: String? = nil) {
    var fields: [Field] = []
    for line in lines {
      let field = Self.field(line)
      // The same line in the settings file and on the command line counts once.
      if !fields.contains(field) { fields.append(field) }
    }
    if !userAgent.isEmpty, !fields.contains(where: { $0.name == "user-agent" }) {
      fields.append(Field(name: "user-agent", value: userAgent))
    }
    // No real field's name contains a blank.
    if let cookieJar { fields.append(Field(name: "cookie jar", value: cookieJar)) }
    // Stable: the order of lines with one name is part of what they say (RFC 9110 §5.3).
    let sorted = fields.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
    keyed = sorted.map(\.element).filter { !Self.harmlessNames.contains($0.name) }
    harmless = sorted.map(\.element).filter { Self.harmlessNames.contains($0.name) }
    func values(_ name: String) -> String? {
      let values = fields.filter { $0.name == name }.map(\.value)
      return values.isEmpty ? nil : values.joined(separator: ",")
    }
    directives = RequestDirectives(cacheControl: values("cache-control"), pragma: values("pragma"))
  }

  /// Identifies these requests among other runs' requests, as text; nil if no field does. May hold secrets.
  var key: String? { keyed.isEmpty ? nil : Self.text(keyed) }

  /// The values of the fields that an answer's `Vary` names, as far as they are not in the key; nil for none.
  func values(namedBy vary: String) -> String? {
    let names = Set(vary.lowercased().split(separator: ",").map { String(OptionalWhiteSpace.trimmed($0)) })
    let named = harmless.filter { names.contains($0.name) }
    return named.isEmpty ? nil : Self.text(named)
  }

  /// Whether an answer depends on the cookies of its request (`Vary: Cookie`).
  static func isCookies(vary: String) -> Bool {
    vary.split(separator: ",").contains { OptionalWhiteSpace.trimmed($0).lowercased() == "cookie" }
  }

  /// `Vary: *`: nothing says what the answer depends on, so that no later request matches (RFC 9111 §4.1).
  static func isAny(vary: String) -> Bool {
    vary.split(separator: ",").contains { OptionalWhiteSpace.trimmed($0) == "*" }
  }

  private static func text(_ fields: [Field]) -> String { fields.map { "\($0.name):\($0.value)\n" }.joined() }

  private static func field(_ line: String) -> Field {
    // A semicolon is curl's way of sending a field without a value.
    let end = line.utf8.firstIndex { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ";") } ?? line.endIndex
    let value = end == line.endIndex ? "" : line[line.utf8.index(after: end)...]
    return Field(
      name: OptionalWhiteSpace.trimmed(line[..<end]).lowercased(),
      value: String(OptionalWhiteSpace.trimmed(value)))
  }
}

/// The logins of a netrc file, as curl and ftp know it: `machine HOST login NAME password SECRET`, `default
/// …`.
///
/// The transport reads the file itself; this only distinguishes the answers that different logins get.
public struct NetrcLogins: Sendable {
  private var machines: [String: String] = [:]
  private var fallback: String?
  /// The text of all entries, for an answer that came through redirects over other hosts.
  let all: String

  public init(_ text: [UInt8]) {
    var entries: [(machine: String?, words: [String])] = []
    for word in Self.words(text) {
      switch word {
      case .machine(let host): entries.append((host.lowercased(), []))
      case .fallback: entries.append((nil, []))
      case .other(let word): if !entries.isEmpty { entries[entries.count - 1].words.append(word) }
      }
    }
    for (machine, words) in entries {
      let login = words.joined(separator: "\u{0}") + "\n"
      if let machine {
        machines[machine, default: ""] += login
      } else {
        fallback = (fallback ?? "") + login
      }
    }
    all = entries.map { ([$0.machine ?? ""] + $0.words).joined(separator: "\u{0}") }.joined(separator: "\n")
  }

  /// What the file says for a host, as text that is different for different logins; nil for nothing. A
  /// secret.
  /// - Parameter host: as in an address: lower case, an IPv6 address in brackets.
  func login(for host: String) -> String? {
    machines[host.first == "[" ? String(host.dropFirst().dropLast()) : host] ?? fallback
  }

  /// Whether the file says something for a host.
  /// - Parameters:
  ///   - host: as in an address.
  ///   - isHome: whether what it says for every host (`default`) counts too.
  public func hasLogin(for host: String, isHome: Bool) -> Bool {
    isHome ? login(for: host) != nil : login(for: host) != fallback
  }

  private enum Word {
    case machine(String)
    case fallback
    case other(String)
  }

  private static func words(_ text: [UInt8]) -> [Word] {
    var words: [Word] = []
    var namesMachine = false
    var isValue = false
    var isMacro = false
    for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let tokens = tokens(line)
      // A macro (`macdef`) ends at an empty line.
      if isMacro {
        isMacro = !tokens.isEmpty
        continue
      }
      for token in tokens {
        if namesMachine {
          words.append(.machine(token))
          namesMachine = false
          continue
        }
        if isValue {
          words.append(.other(token))
          isValue = false
          continue
        }
        switch token.lowercased() {
        case "login", "password", "account":
          words.append(.other(token.lowercased()))
          isValue = true
        case "machine": namesMachine = true
        case "default": words.append(.fallback)
        case "macdef": isMacro = true
        default: words.append(.other(token))
        }
        if isMacro { break }
      }
    }
    return words
  }

  /// Words between blanks. A word in double quotes may contain blanks, and a backslash in it makes the next
  /// character literal. A word that begins with `#` makes the rest of the line a comment.
  private static func tokens(_ line: ArraySlice<UInt8>) -> [String] {
    var tokens: [String] = []
    var index = line.startIndex
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
    while index < line.endIndex {
      if isBlank(line[index]) {
        index += 1
        continue
      }
      if line[index] == UInt8(ascii: "#") { break }
      var token: [UInt8] = []
      if line[index] == UInt8(ascii: "\"") {
        index += 1
        while index < line.endIndex, line[index] != UInt8(ascii: "\"") {
          if line[index] == UInt8(ascii: "\\"), index + 1 < line.endIndex { index += 1 }
          token.append(line[index])
          index += 1
        }
        index += 1
      } else {
        while index < line.endIndex, !isBlank(line[index]) {
          token.append(line[index])
          index += 1
        }
      }
      tokens.append(String(decoding: token, as: UTF8.self))
    }
    return tokens
  }
}
