import TerminalProgress

/// Short names of addresses: their ends, and of those that end alike the part that differs.
public struct RowNames {
  private let cells: Int
  private let more: String
  private var names: [String: String] = [:]

  /// - Parameter more: the mark for what is left out.
  public init(_ addresses: [String], cells: Int, more: String) {
    (self.cells, self.more) = (cells, more)
    let texts = Dictionary(addresses.map { ($0, Array(TerminalText.sanitized($0))) }) { $1 }
    for (name, group) in Dictionary(grouping: texts, by: { end(of: $0.value) }) {
      if group.count == 1 { names[group[0].key] = name } else { tell(group.map { ($0.key, $0.value) }) }
    }
  }

  public subscript(address: String) -> String { names[address] ?? "" }

  private func end(of text: [Character]) -> String {
    let last = Array(text.split(separator: "/").last ?? text[...])
    return last.count > cells ? more + String(last.suffix(cells - more.count)) : String(last)
  }

  /// Names each from the first place in which they differ; those that still look alike, from the next.
  private mutating func tell(_ group: [(address: String, text: [Character])]) {
    let first = group[0].text
    let same = group.map { zip($0.text, first).prefix { $0 == $1 }.count }.min() ?? 0
    let groups = Dictionary(grouping: group) { window(of: $0.text, from: same) }
    for (name, group) in groups {
      // Those that differ only in secrets are one text.
      if group.count == 1 || groups.count == 1 {
        for (address, _) in group { names[address] = name }
      } else {
        tell(group)
      }
    }
  }

  /// From the beginning of the path's part in which the place is, if that is near.
  private func window(of text: [Character], from place: Int) -> String {
    let part = (text[..<place].lastIndex(of: "/") ?? -1) + 1
    let room = cells - (part > 0 ? more.count : 0)
    let isNear = place - part < cells / 2 || text.count - part <= room
    let begin = isNear ? part : max(part, min(place, text.count - cells / 2))
    let rest = text[begin...]
    let shown = rest.count > room ? rest.prefix(room - more.count) + Array(more) : rest
    return (begin > 0 ? more : "") + String(shown)
  }
}
