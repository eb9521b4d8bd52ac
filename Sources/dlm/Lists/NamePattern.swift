import DownloadModel

/// A pattern of `--first`, as the shell's: `*`, `?`, `[a-z]`, `[!a-z]`, and `\` before what stands for itself. Without
/// a slash it is compared with the last component of the address's path. With slashes its components are compared with
/// as many last ones, so `docs/*.pdf` is any PDF in any folder `docs`; with one at its start, with the whole path. `*`
/// does not pass a slash. Percent-encoding is decoded first, and the query is no part of the path. A bracket that is
/// never closed stands for itself.
struct NamePattern: Sendable, Equatable {
  private enum Piece: Sendable, Equatable {
    case one(Unicode.Scalar)
    case any
    /// Any number of any.
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
    components = scalars.drop { isWhole && $0 == "/" }.split(
      separator: "/", omittingEmptySubsequences: false
    ).map { Self.pieces($0) }
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

  /// What stands in brackets, and what follows; nil if they are not closed.
  private static func set(
    _ text: ArraySlice<Unicode.Scalar>
  ) -> (Piece, ArraySlice<Unicode.Scalar>)? {
    var rest = text
    var isNegated = false
    if rest.first == "!" || rest.first == "^" {
      isNegated = true
      rest = rest.dropFirst()
    }
    var ranges: [ClosedRange<Unicode.Scalar>] = []
    var isFirst = true
    while let scalar = rest.popFirst() {
      // One that stands first is a member.
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

  /// Goes back to the last `*` only, so its time is bounded by the product of the lengths.
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
