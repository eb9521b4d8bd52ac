/// The bar of a file that comes in several parts: which of its bytes are there. A pure function of those and of the
/// width.
struct SegmentBar: Equatable {
  /// Cells that are filled, or that are not.
  struct Run: Equatable {
    var text: String
    var isFilled: Bool
  }

  let runs: [Run]

  /// - Parameters:
  ///   - parts: the bytes that are there, in the order of the file.
  ///   - total: the file's length.
  init(_ parts: [Range<Int64>], of total: Int64, cells: Int, glyphs: Glyphs.Bar) {
    var runs: [Run] = []
    for share in Self.shares(parts, total, max(0, cells)) {
      let steps = glyphs.steps.count
      // A cell is never full before all of it is there, nor empty once something is, where half a cell can be drawn.
      let level = steps > 1 && share > 0 ? max(1, Int(share * Double(steps))) : Int(share)
      let text = level > 0 ? glyphs.steps[min(level, steps) - 1] : glyphs.empty
      if runs.last?.isFilled == (level > 0) {
        runs[runs.count - 1].text += text
      } else {
        runs.append(Run(text: text, isFilled: level > 0))
      }
    }
    self.runs = runs
  }

  /// For each cell, how much of it is there, from 0 to 1.
  private static func shares(_ parts: [Range<Int64>], _ total: Int64, _ cells: Int) -> [Double] {
    var shares = Array(repeating: 0.0, count: cells)
    guard total > 0, cells > 0 else { return shares }
    let scale = Double(cells) / Double(total)
    for part in parts where !part.isEmpty {
      let start = min(max(0, Double(part.lowerBound) * scale), Double(cells))
      let end = min(max(start, Double(part.upperBound) * scale), Double(cells))
      var cell = Int(start)
      while cell < cells, Double(cell) < end {
        shares[cell] += min(end, Double(cell + 1)) - max(start, Double(cell))
        cell += 1
      }
    }
    // Where parts meet within a cell, rounding must not leave a gap.
    return shares.map { $0 > 0.9999 ? 1 : $0 }
  }
}
