/// The logins of a netrc file, to distinguish the answers that different logins get. libcurl reads the file itself.
package struct NetrcLogins: Sendable {
  /// By machine; `nil` for all others (`default`).
  private var machines: [String?: String] = [:]
  /// All entries, for an answer that arrived through redirects over other hosts. A secret.
  package let all: String

  package init(_ text: [UInt8]) {
    let entries = Self.entries(text)
    for (machine, words) in entries {
      machines[machine, default: ""] += words.joined(separator: "\u{0}") + "\n"
    }
    all = entries.map { ([$0.machine ?? ""] + $0.words).joined(separator: "\u{0}") }.joined(separator: "\n")
  }

  /// One login for every host.
  /// - Parameter login: `NAME:PASSWORD`.
  package init(login: String) {
    machines = [nil: login]
    all = login
  }

  private static func entries(_ text: [UInt8]) -> [(machine: String?, words: [String])] {
    var entries: [(machine: String?, words: [String])] = []
    func add(_ word: String) { if !entries.isEmpty { entries[entries.count - 1].words.append(word) } }
    // The keyword whose value the next token is; empty for none.
    var keyword = ""
    var isMacro = false
    for line in text.split(separator: .newline, omittingEmptySubsequences: false) {
      let tokens = Self.tokens(line)
      // A macro (`macdef`) ends at an empty line.
      if isMacro {
        isMacro = !tokens.isEmpty
        continue
      }
      for token in tokens where !isMacro {
        let word = token.lowercased()
        switch (keyword, word) {
        case ("", "machine"): break
        case ("", "login"), ("", "password"), ("", "account"): add(word)
        case ("", "default"): entries.append((nil, []))
        case ("", "macdef"): isMacro = true
        case ("machine", _): entries.append((word, []))
        default: add(token)
        }
        keyword = keyword.isEmpty && ["machine", "login", "password", "account"].contains(word) ? word : ""
      }
    }
    return entries
  }

  /// The file's entry for a host, as a text that differs for different logins; `nil` for none. A secret.
  /// - Parameter host: as in a URL: lower case, an IPv6 address in brackets.
  package func login(for host: String) -> String? {
    machines[host.first == "[" ? String(host.dropFirst().dropLast()) : host] ?? machines[nil]
  }

  /// Whether the file has an entry for a host.
  /// - Parameter isHome: whether the entry for every host (`default`) counts, too.
  package func hasLogin(for host: String, isHome: Bool) -> Bool {
    isHome ? login(for: host) != nil : login(for: host) != machines[nil]
  }

  /// Words between blanks. A word in double quotes may contain blanks, and a backslash in it makes the next character
  /// literal. A word that starts with `#` makes the rest of the line a comment.
  private static func tokens(_ line: ArraySlice<UInt8>) -> [String] {
    var tokens: [String] = []
    var rest = line
    while true {
      rest = rest.drop(while: \.isBlank)
      guard let first = rest.first, first != .numberSign else { return tokens }
      var token = rest.prefix { !$0.isBlank }
      rest = rest.dropFirst(token.count)
      if first == .quote {
        rest = line[(token.startIndex + 1)...]
        token = []
        while let byte = rest.popFirst(), byte != .quote {
          token.append(byte == .backslash ? rest.popFirst() ?? byte : byte)
        }
      }
      tokens.append(String(utf8: token))
    }
  }
}
