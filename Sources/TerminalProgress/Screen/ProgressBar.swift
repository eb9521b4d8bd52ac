/// A bar's cells between its two edges.
enum ProgressBar {
  enum Extent {
    /// From 0 to 1.
    case part(Double)
    /// Of a file in several parts: the bytes that are there, in the order of the file, and its length.
    case parts([Range<Int64>], of: Int64)
    /// Bytes of an unknown number: a block goes to and fro. `step` grows with bytes only, so it stops when they do.
    case moving(step: Int)
  }

  /// How many of its steps each cell has.
  static func levels(_ extent: Extent, cells: Int, steps: Int) -> [Int] {
    let cells = max(0, cells)
    switch extent {
    case .part(let fraction):
      let bounded = fraction.isFinite ? min(max(fraction, 0), 1) : 0
      // Never full before it is done, never empty once something is there.
      let count = bounded > 0 ? max(1, Int(bounded * Double(cells * steps))) : 0
      return (0..<cells).map { min(max(0, count - $0 * steps), steps) }
    case .parts(let parts, let total):
      // With several steps to a cell any share of it shows; with one, only a whole cell does.
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

  /// For each cell, how much of it is there, from 0 to 1.
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
    // Where parts meet within a cell, rounding must not leave a gap.
    return shares.map { $0 > 0.9999 ? 1 : $0 }
  }
}
