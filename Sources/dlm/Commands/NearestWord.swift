/// The word that was likely meant where one was mistyped: a pure rule.
enum NearestWord {
  /// - Returns: the one of the words that is fewest slips away, if that is few enough for a slip; nil if none is.
  static func to(_ typed: String, among words: some Sequence<String>) -> String? {
    let typed = Array(typed.lowercased().utf8.prefix(longest + 1))
    guard !typed.isEmpty, typed.count <= longest else { return nil }
    var nearest: (word: String, slips: Int)?
    for word in words {
      let letters = Array(word.lowercased().utf8)
      let slips = slips(typed, letters)
      // Of a short word a single slip leaves little; a half of it must be right.
      guard slips <= max(1, min(typed.count, letters.count) / 3), slips < (nearest?.slips ?? .max) else {
        // What was only begun counts too: "comp" is compare.
        if nearest == nil, typed.count >= 2, letters.starts(with: typed) { nearest = (word, letters.count) }
        continue
      }
      nearest = (word, slips)
    }
    return nearest?.word
  }

  /// Longer words are no names of anything.
  private static let longest = 40

  /// Letters to be added, dropped, changed or swapped with their neighbour (Damerau's distance, where no letter is
  /// touched twice).
  private static func slips(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...other.count)
    for row in 1...max(1, one.count) where row <= one.count {
      var now = [row]
      for column in 1...max(1, other.count) where column <= other.count {
        let isSame = one[row - 1] == other[column - 1]
        var least = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
        if row > 1, column > 1, one[row - 1] == other[column - 2], one[row - 2] == other[column - 1] {
          least = min(least, beforeLast[column - 2] + 1)
        }
        now.append(least)
      }
      (beforeLast, last) = (last, now)
    }
    return last[other.count]
  }
}
