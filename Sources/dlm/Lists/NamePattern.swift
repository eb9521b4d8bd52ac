import DownloadModel

/// A pattern of `--first`, as the shell's: `*`, `?`, `[a-z]`, `[!a-z]`, `\`. Its components are compared with as many
/// last ones of the address's path, or with all if it begins with a slash. `*` does not pass a slash; paths are
/// percent-decoded; a bracket that is never closed stands for itself.
struct NamePattern: Sendable, Equatable {
  private enum Piece: Sendable, Equatable {
    case one(Unicode.Scalar)
    case any
    case many
    case set([ClosedRange<Unicode.Scalar>], isNegated: Bool)
  }

  let text: String
  private let components: [[Piece]]
  private let isWhole: Bool

  init(_ text: String) {
    self.text = text
    let isWhole = text.utf8.first == UInt8(ascii: "/")
    self.isWhole = isWhole
    let scalars = Array(text.unicodeScalars)
    components = scalars.drop { isWhole && $0 == "/" }.split(separator: "/", omittingEmptySubsequences: false)
      .map(Self.pieces)
  }

  private static func pieces(_ text: ArraySlice<Unicode.Scalar>) -> [Piece] {
    var pieces: [Piece] = []
    var rest = text
    while let scalar = rest.popFirst() {
      switch scalar {
      case "*": if pieces.last != .many { pieces.append(.many) }
      case "?": pieces.append(.any)
      case "\\": pieces.append(.one(rest.popFirst() ?? scalar))
      case "[":
        if let (set, behind) = set(rest) {
          pieces.append(set)
          rest = behind
        } else {
          pieces.append(.one(scalar))
        }
      default: pieces.append(.one(scalar))
      }
    }
    return pieces
  }

  /// Nil if the bracket is not closed.
  private static func set(_ text: ArraySlice<Unicode.Scalar>) -> (Piece, ArraySlice<Unicode.Scalar>)? {
    let isNegated = text.first == "!" || text.first == "^"
    var rest = text.dropFirst(isNegated ? 1 : 0)
    var ranges: [ClosedRange<Unicode.Scalar>] = []
    var isFirst = true
    while let scalar = rest.popFirst() {
      // At the start it is a member.
      if scalar == "]", !isFirst { return (.set(ranges, isNegated: isNegated), rest) }
      isFirst = false
      let low = scalar == "\\" ? rest.popFirst() ?? scalar : scalar
      if rest.first == "-", let high = rest.dropFirst().first, high != "]" {
        rest = rest.dropFirst(2)
        if low <= high { ranges.append(low...high) }
      } else {
        ranges.append(low...low)
      }
    }
    return nil
  }

  func matches(_ address: Address) -> Bool {
    if components.count == 1, !isWhole { return Self.matches(components[0], address.lastPathSegment) }
    let path = address.path.drop { $0 == "/" }.split(separator: "/", omittingEmptySubsequences: false)
    guard isWhole ? path.count == components.count : path.count >= components.count else { return false }
    return zip(components, path.suffix(components.count)).allSatisfy { Self.matches($0, $1) }
  }

  private static func matches(_ pieces: [Piece], _ name: Substring) -> Bool {
    let octets = PercentEncoding.decode(name)
    let text = octets.map { String(decoding: $0, as: UTF8.self) } ?? String(name)
    return matches(pieces, Array(text.unicodeScalars))
  }

  /// Goes back to the last `*` only, so time is bounded by the product of the lengths.
  private static func matches(_ pieces: [Piece], _ text: [Unicode.Scalar]) -> Bool {
    var (piece, place) = (0, 0)
    var star: (piece: Int, place: Int)?
    while place < text.count {
      if piece < pieces.count, pieces[piece] == .many {
        star = (piece, place)
        piece += 1
      } else if piece < pieces.count, accepts(pieces[piece], text[place]) {
        piece += 1
        place += 1
      } else if let last = star {
        star = (last.piece, last.place + 1)
        (piece, place) = (last.piece + 1, last.place + 1)
      } else {
        return false
      }
    }
    return pieces[piece...].allSatisfy { $0 == .many }
  }

  private static func accepts(_ piece: Piece, _ scalar: Unicode.Scalar) -> Bool {
    switch piece {
    case .one(let one): one == scalar
    case .any, .many: true
    case .set(let ranges, let isNegated): ranges.contains { $0.contains(scalar) } != isNegated
    }
  }
}
