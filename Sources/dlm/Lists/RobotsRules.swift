import DownloadModel

/// The rules of a server's robots.txt (RFC 9309) for dlm, for the pages that `--depth` would read.
struct RobotsRules {
  private struct Rule {
    let isAllowed: Bool
    /// The pattern's parts between asterisks.
    let pieces: [String]
    let isToEnd: Bool

    init(_ pattern: Substring, isAllowed: Bool) {
      self.isAllowed = isAllowed
      isToEnd = pattern.last == "$"
      let text = isToEnd ? pattern.dropLast() : pattern
      pieces = text.split(separator: "*", omittingEmptySubsequences: false).map(String.init)
    }

    var length: Int { pieces.reduce(pieces.count) { $0 + $1.utf8.count } }

    func matches(_ path: String) -> Bool {
      var rest = path.utf8[...]
      for (index, piece) in pieces.enumerated() where !piece.isEmpty {
        if isToEnd, index > 0, index == pieces.count - 1 {
          return rest.reversed().starts(with: piece.utf8.reversed())
        }
        guard let range = rest.place(of: piece), index > 0 || range.lowerBound == rest.startIndex
        else { return false }
        rest = rest[range.upperBound...]
      }
      return !isToEnd || rest.isEmpty || pieces.last?.isEmpty == true
    }
  }

  private let rules: [Rule]

  /// Bytes that are read (RFC 9309 §2.5).
  static let most = 500 << 10

  /// - Parameter text: empty if a server has no such file: then all is allowed.
  init(_ text: [UInt8]) {
    var groups: [String: [Rule]] = [:]
    var agents: Set<String> = []
    var isNamed = false
    for line in String(utf8: text.prefix(Self.most)).split(whereSeparator: \.endsLine) {
      let (name, text) = line.prefix { $0 != "#" }.halves(at: ":")
      guard let value = text.map({ OptionalWhiteSpace.trimmed($0) }) else { continue }
      let field = OptionalWhiteSpace.trimmed(name).lowercased()
      switch field {
      case "user-agent":
        if !isNamed { agents = [] }
        isNamed = true
        let agent = value.lowercased()
        guard ["*", "dlm"].contains(agent) else { continue }
        agents.insert(agent)
        groups[agent, default: []] += []
      case "allow", "disallow":
        isNamed = false
        guard !value.isEmpty else { continue }
        for agent in agents { groups[agent]?.append(Rule(value, isAllowed: field == "allow")) }
      default: break
      }
    }
    rules = groups["dlm"] ?? groups["*"] ?? []
  }

  /// The longest matching rule counts; of equal ones, the one that allows.
  func allow(_ path: String) -> Bool {
    let longest = rules.filter { $0.matches(path) }
      .max { ($0.length, $0.isAllowed ? 1 : 0) < ($1.length, $1.isAllowed ? 1 : 0) }
    return longest?.isAllowed != false
  }
}
