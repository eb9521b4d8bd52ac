import DownloadModel

/// Whether what is read as a list is one: a rule over its first bytes, and over how many of its lines are addresses.
/// Else a film that was meant to be downloaded would be refused line by line, thousands of times.
struct ListDoubt {
  /// A line that is no request.
  struct BadLine: Equatable {
    let line: Int
    let text: String
    let reason: Rejection.Reason
  }

  /// What becomes of a bad line.
  enum Verdict: Equatable {
    /// It is kept until more is known.
    case held
    case told
    /// Nothing more is to be read.
    case refused(Rejection.NoList)
  }

  /// Bad lines without one that is an address, which no list has at its beginning.
  static let mostAtStart = 8
  /// Bad lines further on that are some slips in a long list, as long as most lines are addresses.
  static let mostLater = 50
  /// How many bad lines one address may make up for, beyond those.
  private static let badPerAddress = 20

  private var addresses = 0
  private var bad = 0
  private var held: [BadLine] = []

  /// A line was an address.
  /// - Returns: the bad lines before it that are to be told now.
  mutating func address() -> [BadLine] {
    addresses += 1
    return held.isEmpty ? [] : release()
  }

  mutating func take(_ line: BadLine) -> Verdict {
    bad += 1
    if addresses == 0 {
      held.append(line)
      return bad < Self.mostAtStart ? .held : .refused(.lines(bad))
    }
    return bad > Self.mostLater && bad / Self.badPerAddress > addresses ? .refused(.lines(bad)) : .told
  }

  /// The list ended, or cannot be read any further.
  /// - Returns: the bad lines that are to be told now.
  mutating func release() -> [BadLine] {
    defer { held = [] }
    return held
  }

  /// What the first bytes show by themselves; nil for what may be a list.
  static func look(at start: some Collection<UInt8>) -> Rejection.NoList? {
    if start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]) { return .utf16 }
    let text = start.prefix(1024).drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
    let head = text.prefix(14).map { $0 < 0x80 ? $0 | 0x20 : $0 }
    if head.starts(with: "<!doctype html".utf8.map { $0 | 0x20 }) || head.starts(with: "<html".utf8) {
      return .page
    }
    return start.contains(0) ? .binary : nil
  }
}
