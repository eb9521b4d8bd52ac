import DownloadModel

/// What the page's script says of a row. Addresses stand once for all modes, without their common beginning, and a row
/// is numbers between blanks, since a thousand files in three modes have three thousand.
struct WaterfallData {
  /// Of each mode.
  let runs: [[FileTimeline]]
  /// When each of them ended.
  let ends: [Duration]
  /// That the drawings share.
  let axis: TimeAxis

  var json: JSONValue {
    var places: [String: Int] = [:]
    var addresses: [String] = []
    for file in runs.joined() where places[file.address] == nil {
      places[file.address] = addresses.count
      addresses.append(file.address)
    }
    let shown = addresses.map(Markup.clean)
    let prefix = Self.commonFolder(shown)
    return .object([
      "end": .decimal(axis.end / .milliseconds(1)),
      "ends": .list(ends.map { .decimal($0 / .milliseconds(1)) }),
      "prefix": .text(prefix),
      "names": .list(shown.map { .text(String($0.unicodeScalars.dropFirst(prefix.unicodeScalars.count))) }),
      "phases": .list(FilePhase.allCases.map { .text(PhaseLook($0).name) }),
      "runs": .list(
        runs.map { files in
          .text(files.map { Self.row($0, name: places[$0.address] ?? 0) }.joined(separator: ";"))
        }),
    ])
  }

  /// The name's number, the milliseconds of each phase, with nothing for none, and "x" for a failure: `3 40
  ///   9.5`.
  static func row(_ file: FileTimeline, name: Int) -> String {
    let times = TimeShares([file]).times
    let fields = FilePhase.allCases.map { phase in
      times[phase].map { time -> String in
        let milliseconds = time / .milliseconds(1)
        return Markup.number(milliseconds < 10 ? milliseconds : (milliseconds * 10).rounded() / 10)
      } ?? ""
    }
    var row = "\(name) \(fields.joined(separator: " "))"
    while row.last == " " { row.removeLast() }
    return file.hasFailed ? row + " x" : row
  }

  /// What all addresses begin with, up to a slash. By scalars, so that both pieces together are the address.
  static func commonFolder(_ addresses: [String]) -> String {
    // One alone would lose all but its name.
    guard addresses.count > 1, let first = addresses.first else { return "" }
    var prefix = Array(first.unicodeScalars)
    for address in addresses {
      let equal = zip(prefix, address.unicodeScalars).prefix { $0 == $1 }.count
      prefix.removeLast(prefix.count - equal)
    }
    let end = prefix.lastIndex(of: "/").map { $0 + 1 } ?? 0
    var folder = String.UnicodeScalarView()
    folder.append(contentsOf: prefix[..<end])
    return String(folder)
  }
}
