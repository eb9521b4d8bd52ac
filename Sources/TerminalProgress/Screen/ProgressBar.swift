/// A bar's cells between its two edges.
enum ProgressBar {
  enum Extent {
    /// From 0 to 1.
    case part(Double)
    /// For a split file: the existing bytes, in the order of the file, and its length.
    case parts([Range<Int64>], of: Int64)
    /// For an unknown total: a block moves back and forth. `step` grows only with bytes, so it stops when they do.
    case moving(step: Int)
  }

  /// The number of filled steps of each cell.
  static func levels(_ extent: Extent, cells: Int, steps: Int) -> [Int] {
    let cells = max(0, cells)
    switch extent {
    case .part(let fraction):
      let bounded = fraction.isFinite ? min(max(fraction, 0), 1) : 0
      // Never full before the end, and never empty once there are bytes.
      let count = bounded > 0 ? max(1, Int(bounded * Double(cells * steps))) : 0
      return (0..<cells).map { min(max(0, count - $0 * steps), steps) }
    case .parts(let parts, let total):
      // With several steps to a cell, any fraction of it is visible; with one, only a whole cell is.
      return shares(parts, total, cells).map { share in
        steps > 1 && share > 0 ? min(max(1, Int(share * Double(steps))), steps) : min(Int(share), 1)
      }
    case .moving(let step):
      let block = min(max(1, cells / 4), cells)
      let track = max(1, cells - block)
      let place = max(0, step) % (2 * track)
      let offset = min(place <= track ? place : 2 * track - place, cells - block)
      return (0..<cells).map { (offset..<offset + block).contains($0) ? steps : 0 }
    }
  }

  /// The filled fraction of each cell, from 0 to 1.
  private static func shares(_ parts: [Range<Int64>], _ total: Int64, _ cells: Int) -> [Double] {
    var shares = Array(repeating: 0.0, count: cells)
    guard total > 0 else { return shares }
    let scale = Double(cells) / Double(total)
    for part in parts where !part.isEmpty {
      let start = min(max(0, Double(part.lowerBound) * scale), Double(cells))
      let end = min(max(start, Double(part.upperBound) * scale), Double(cells))
      for cell in Int(start)..<max(Int(start), Int(end.rounded(.up))) {
        shares[cell] += min(end, Double(cell + 1)) - max(start, Double(cell))
      }
    }
    // If parts meet within a cell, rounding must not leave a gap.
    return shares.map { $0 > 0.9999 ? 1 : $0 }
  }
}
