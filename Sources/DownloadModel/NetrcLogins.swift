/// The logins of a netrc file, as curl and ftp know it: `machine HOST login NAME password SECRET`, `default …`.
///
/// The transport reads the file itself; this only distinguishes the answers that different logins get.
public struct NetrcLogins: Sendable {
  private var machines: [String: String] = [:]
  private var fallback: String?
  /// The text of all entries, for an answer that came through redirects over other hosts. A secret.
  package let all: String

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

  /// What the file says for a host, as text that is different for different logins; nil for nothing. A secret.
  /// - Parameter host: as in an address: lower case, an IPv6 address in brackets.
  package func login(for host: String) -> String? {
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
    /// What the next token is, where the one before says it.
    var expected: ((String) -> Word)?
    var isMacro = false
    for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let tokens = tokens(line)
      // A macro (`macdef`) ends at an empty line.
      if isMacro {
        isMacro = !tokens.isEmpty
        continue
      }
      for token in tokens where !isMacro {
        if let word = expected {
          words.append(word(token))
          expected = nil
          continue
        }
        switch token.lowercased() {
        case "login", "password", "account":
          words.append(.other(token.lowercased()))
          expected = Word.other
        case "machine": expected = Word.machine
        case "default": words.append(.fallback)
        case "macdef": isMacro = true
        default: words.append(.other(token))
        }
      }
    }
    return words
  }

  /// Words between blanks. A word in double quotes may contain blanks, and a backslash in it makes the next character
  /// literal. A word that begins with `#` makes the rest of the line a comment.
  private static func tokens(_ line: ArraySlice<UInt8>) -> [String] {
    var tokens: [String] = []
    var rest = line
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
    while true {
      rest = rest.drop(while: isBlank)
      guard let first = rest.first, first != UInt8(ascii: "#") else { return tokens }
      var token = rest.prefix { !isBlank($0) }
      rest = rest.dropFirst(token.count)
      if first == UInt8(ascii: "\"") {
        (rest, token) = (line[(token.startIndex + 1)...], [])
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
          token.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
      }
      tokens.append(String(decoding: token, as: UTF8.self))
    }
  }
}
