/// The directives of a `Cache-Control` field (RFC 9111 §5.2), looked up by lower-case names. A restricting directive
/// counts wherever a comma may start it, even inside a quoted string. A permitting one counts only in the form of the
/// grammar; if malformed, or given twice with different arguments, it permits nothing (§4.2.1).
package struct CacheControl {
  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  private let field: String

  /// - Parameter field: the values of all lines, joined with commas; `nil` for none.
  package init(_ field: String?) { self.field = field ?? "" }

  package var isEmpty: Bool { field.isEmpty }

  /// Whether the restricting directive is present, with or without an argument.
  package func restricts(_ name: StaticString) -> Bool {
    withBytes { field in
      var start = field.startIndex
      while start <= field.endIndex {
        let end = field[start...].firstIndex(of: .comma) ?? field.endIndex
        if Self.isName(field[start..<end].prefix { $0 != .equals && $0 != .quote }, name) {
          return true
        }
        start = end + 1
      }
      return false
    }
  }

  /// Whether the permitting directive is present, with or without an argument.
  package func permits(_ name: StaticString) -> Bool { seconds(name, strictest: 0) != nil }

  /// The argument of a directive in seconds (`delta-seconds`, RFC 9111 §1.2.2); `nil` without the directive. Returns
  /// `strictest` for a malformed or contradictory argument, and `bare` for a missing one.
  package func seconds(_ name: StaticString, strictest: Int64, bare: Int64? = nil) -> Int64? {
    withBytes { field in
      var seconds: Int64?
      Self.forEach(name, in: field) { argument in
        let found = argument.map { Self.number($0) ?? strictest } ?? bare ?? strictest
        seconds = found == seconds ?? found ? found : strictest
      }
      return seconds
    }
  }

  // MARK: Reading

  private func withBytes<Answer>(_ body: (Bytes) -> Answer) -> Answer {
    var field = field
    return field.withUTF8 { body($0[...]) }
  }

  /// Calls `body` with the argument of each such directive. A comma in a quoted string does not end a directive
  /// (RFC 9110 §5.6.4).
  private static func forEach(_ name: StaticString, in field: Bytes, _ body: (Bytes?) -> Void) {
    var isQuoted = false
    var isEscaped = false
    var start = field.startIndex
    for index in field.startIndex..<field.endIndex {
      let byte = field[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == .backslash {
        isEscaped = true
      } else if byte == .quote {
        isQuoted.toggle()
      } else if byte == .comma, !isQuoted {
        read(field[start..<index], name, body)
        start = index + 1
      }
    }
    read(field[start...], name, body)
  }

  private static func read(_ directive: Bytes, _ name: StaticString, _ body: (Bytes?) -> Void) {
    let equals = directive.firstIndex(of: .equals)
    guard isName(directive[..<(equals ?? directive.endIndex)], name) else { return }
    guard let equals else { return body(nil) }
    // A blank beside the equals sign (§5.2) makes the argument as invalid as an empty one.
    let isApart = equals > directive.startIndex && OptionalWhiteSpace.contains(directive[equals - 1])
    body(isApart ? directive[equals..<equals] : directive[(equals + 1)...])
  }

  private static func number(_ argument: Bytes) -> Int64? {
    var argument = argument
    while let last = argument.last, OptionalWhiteSpace.contains(last) { argument = argument.dropLast() }
    guard argument.count >= 2, argument.first == .quote, argument.last == .quote else {
      return DeltaSeconds.read(argument)
    }
    return DeltaSeconds.read(unescaped(argument.dropFirst().dropLast()))
  }

  private static func unescaped(_ quoted: Bytes) -> [UInt8] {
    var isEscaped = false
    return quoted.filter { byte in
      isEscaped = !isEscaped && byte == .backslash
      return !isEscaped
    }
  }

  /// Ignores case and blanks around the text.
  private static func isName(_ text: Bytes, _ name: StaticString) -> Bool {
    let text = OptionalWhiteSpace.trimmed(text)
    return name.withUTF8Buffer { name in text.elementsEqual(name) { $0.lowercased == $1 } }
  }
}
