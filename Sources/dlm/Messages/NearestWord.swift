import FoundationEssentials

/// The word that was probably meant by a mistyped one.
enum NearestWord {
  static func to(_ typed: String, among words: some Sequence<String>) -> String? {
    let typed = Array(typed.lowercased().utf8.prefix(longest + 1))
    guard !typed.isEmpty, typed.count <= longest else { return nil }
    let all = words.map { word in
      let letters = Array(word.lowercased().utf8)
      return (word: word, letters: letters, slips: slips(typed, letters))
    }
    // One mistake in three letters, or one in a shorter word.
    let near = all.filter { $0.slips <= max(1, min(typed.count, $0.letters.count) / 3) }.min { $0.slips < $1.slips }
    // A prefix counts, too: "comp" is compare.
    return (near ?? all.first { typed.count >= 2 && $0.letters.starts(with: typed) })?.word
  }

  private static let longest = 40

  /// Letters that are added, dropped, changed or swapped with their neighbour (optimal string alignment).
  private static func slips(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...other.count)
    for row in 1...one.count {
      var now = [row]
      for column in last.indices.dropFirst() {
        let isSame = one[row - 1] == other[column - 1]
        var least = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
        if row > 1, column > 1, one[row - 1] == other[column - 2], one[row - 2] == other[column - 1] {
          least = min(least, beforeLast[column - 2] + 1)
        }
        now.append(least)
      }
      beforeLast = last
      last = now
    }
    return last[other.count]
  }
}
