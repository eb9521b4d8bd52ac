import DownloadModel

/// aria2's `-i` format, which `--save-session` writes: the URLs of one file on a line, separated by tabs, followed by
/// indented lines with its options.
struct Aria2Lines: LineRule {
  let said = "an aria2 list"
  private(set) var passedOver: Set<String> = []
  private var file: (address: Address, options: LineOptions)?
  /// Whether the following options belong to a file that was rejected.
  private var isRefused = false

  /// - Parameter start: the first bytes of a list.
  static func fits(_ start: String) -> Bool {
    var rule = Self()
    let lines = start.split(whereSeparator: \.endsLine).flatMap { rule.take(String($0), base: nil) } + rule.end()
    return !rule.passedOver.isEmpty
      || lines.contains { line in
        switch line {
        case .address(_, _?), .bad(.field, _): true
        default: false
        }
      }
  }

  mutating func take(_ text: String, base: Address?) -> [ListLine] {
    if text.hasPrefix("#") { return [] }
    if text.hasPrefix(" ") || text.hasPrefix("\t"), file != nil || isRefused { return take(option: text) }
    let done = end()
    let lines = text.split(separator: "\t").map { ListLine($0.utf8, base: base) }
    let addresses = lines.compactMap(\.address)
    guard let first = addresses.first else {
      isRefused = !lines.isEmpty
      return done + lines.prefix(1)
    }
    file = (first, LineOptions(mirrors: Array(addresses.dropFirst())))
    return done
  }

  mutating func end() -> [ListLine] {
    defer {
      file = nil
      isRefused = false
    }
    return file.map { [.address($0.address, $0.options == LineOptions() ? nil : $0.options)] } ?? []
  }

  private mutating func take(option text: String) -> [ListLine] {
    let parts = text.split(separator: "=", maxSplits: 1).map { OptionalWhiteSpace.trimmed($0) }
    guard let address = file?.address, parts.first?.isEmpty == false else { return [] }
    var name = String(parts[0])
    var value = parts.count > 1 ? String(parts[1]) : ""
    switch name {
    case "referer": (name, value) = ("header", "Referer: \(value == "*" ? address.key : value)")
    case "user-agent": (name, value) = ("header", "User-Agent: \(value)")
    case "out", "dir", "checksum", "header": break
    // Any other text is not an option, and may be a secret.
    case _ where name.utf8.allSatisfy({ $0.isLetterOrDigit || $0 == .dash }) && parts.count > 1:
      if passedOver.count < 100 { passedOver.insert(name) }
      return []
    default: return [.bad(.foreign(to: "an aria2 list"), text: "…")]
    }
    if file?.options.set(name, value) == true { return [] }
    file = nil
    isRefused = true
    return [.bad(.field(LineOptions.shown(name, value)), text: address.redacted)]
  }
}
