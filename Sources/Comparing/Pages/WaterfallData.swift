import DownloadModel

/// The page script's data of a row: numbers between blanks, and each URL once for all modes, without their common
/// prefix, because a thousand files in three modes have three thousand rows.
extension ReportContents {
  var rows: JSONValue {
    let addresses = Set(modes.flatMap { $0.files.map(\.address) }).sorted()
    let places = Dictionary(uniqueKeysWithValues: zip(addresses, addresses.indices))
    let shown = addresses.map { Markup.clean($0).unicodeScalars }
    // The common prefix of the first and the last is common to all.
    let first = shown.min { $0.lexicographicallyPrecedes($1) } ?? .init()
    let last = shown.max { $0.lexicographicallyPrecedes($1) } ?? .init()
    let same = zip(first, last).prefix { $0 == $1 }.count
    return JSONValue([
      // The part of the shared axis that each mode takes.
      "widths": modes.map { $0.axis.end / axis.end * Double(TimeAxis.units) },
      "prefix": String(String.UnicodeScalarView(first.prefix(same))),
      "names": shown.map { String(String.UnicodeScalarView($0.dropFirst(same))) },
      "phases": FilePhase.allCases.map(\.name),
      "runs": modes.map { mode in
        mode.files.map { Self.row($0, name: places[$0.address] ?? 0) }.joined(separator: ";")
      },
    ])
  }

  /// The name's number, the milliseconds of each phase, empty for none, and "x" for a failure: `3 40   9.5`.
  private static func row(_ file: FileTimeline, name: Int) -> String {
    let times = TimeShares([file]).times
    let fields = FilePhase.allCases.map { phase in
      let milliseconds = times[phase].map { $0 / .milliseconds(1) }
      return milliseconds.map { Markup.number($0 < 10 ? $0 : ($0 * 10).rounded() / 10) } ?? ""
    }
    var row = "\(name) \(fields.joined(separator: " "))"
    while row.last == " " { row.removeLast() }
    return file.hasFailed ? row + " x" : row
  }
}
