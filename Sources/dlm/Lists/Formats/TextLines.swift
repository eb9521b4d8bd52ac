import DownloadModel

/// The addresses in any text, each once a line.
struct TextLines: LineRule {
  func take(_ text: String, base: Address?) -> [ListLine] {
    var (found, rest) = ([String](), text[...])
    while let start = ["http://", "https://"].compactMap({ rest.firstRange(of: $0)?.lowerBound }).min() {
      var address = rest[start...].prefix { !$0.isWhitespace && !"<>\"`{}|\\^“”«»".contains($0) }
      rest = rest[address.endIndex...]
      // What ends the sentence around it, or closes a bracket before it.
      func closes(_ mark: Character, _ opening: Character) -> Bool {
        address.last == mark && address.count { $0 == mark } > address.count { $0 == opening }
      }
      while let last = address.last, ".,;:!?'*’。，".contains(last) || closes(")", "(") || closes("]", "[") {
        address.removeLast()
      }
      if !found.contains(String(address)) { found.append(String(address)) }
    }
    // What looks like one in prose and is none is no fault of the text's.
    return found.map { ListLine(Array($0.utf8)) }.filter { $0.address != nil }
  }
}
