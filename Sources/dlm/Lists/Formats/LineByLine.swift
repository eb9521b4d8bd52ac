import DownloadModel

struct LineByLine<Rule: LineRule>: ListFormatReader {
  private(set) var line = 0
  var said: String? { rule.said }
  var note: String? {
    rule.passedOver.isEmpty
      ? nil : "dlm does not do, and passed over: \(rule.passedOver.sorted().joined(separator: ", "))"
  }
  private var splitter = LineSplitter()
  private var rule: Rule

  init(_ rule: Rule) { self.rule = rule }

  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry] {
    var entries: [ListEntry] = []
    for var bytes in splitter.take(block) {
      line += 1
      if bytes.last == 0x0D { bytes.removeLast() }
      let content =
        try ListLine.fault(bytes).map { [$0] } ?? rule.take(String(utf8: bytes), base: base)
      entries += content.map { ListEntry(line: line, content: $0) }
    }
    return block.isEmpty ? entries + rule.end().map { ListEntry(line: line, content: $0) } : entries
  }
}
