/// A JSON value (RFC 8259) for programs: a line of progress, or the output of a command with `--json`.
package enum JSONValue: Sendable, Equatable {
  /// As it is written: a number, true, false or null.
  case literal(String)
  case text(String)
  case list([JSONValue])
  case object([String: JSONValue])

  package static let null = JSONValue.literal("null")

  package init(_ fields: JSONFields) { self = .object(fields.mapValues { $0.json }) }

  /// The value as JSON text, with an object's fields sorted by name.
  package var text: String {
    switch self {
    case .literal(let text): text
    case .text(let text): Self.quoted(text)
    case .list(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let fields):
      "{"
        + fields.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key)):\($0.value.text)" }.joined(separator: ",")
        + "}"
    }
  }

  /// Escapes quotes, backslashes and control characters (RFC 8259 §7), and all characters that a terminal must not
  /// receive, because people also look at such lines. The value stays the same.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case "\n": quoted += "\\n"
      case "\t": quoted += "\\t"
      case let scalar where scalar.isHarmful:
        for unit in scalar.utf16 { quoted += "\\u" + [UInt8(unit >> 8), UInt8(unit & 0xFF)].hexadecimal }
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}

/// A value that may be a field of an object. Swift's own values are used directly; `nil` becomes null.
package protocol JSONRepresentable: Sendable {
  var json: JSONValue { get }
}

package typealias JSONFields = [String: any JSONRepresentable]

extension JSONValue: JSONRepresentable { package var json: JSONValue { self } }

extension String: JSONRepresentable { package var json: JSONValue { .text(self) } }

extension Bool: JSONRepresentable { package var json: JSONValue { .literal(description) } }

extension Double: JSONRepresentable {
  package var json: JSONValue { isFinite ? .literal("\((self * 1000).rounded() / 1000)") : .null }
}

extension JSONRepresentable where Self: BinaryInteger { package var json: JSONValue { .literal(description) } }

extension Int: JSONRepresentable {}

extension Int32: JSONRepresentable {}

extension Int64: JSONRepresentable {}

extension Optional: JSONRepresentable where Wrapped: JSONRepresentable {
  package var json: JSONValue { self?.json ?? .null }
}

extension Array: JSONRepresentable where Element: JSONRepresentable {
  package var json: JSONValue { .list(map(\.json)) }
}

extension Unicode.Scalar {
  /// Whether it must not reach a terminal unescaped. The joiners U+200C and U+200D may: scripts and emoji need them.
  package var isHarmful: Bool {
    switch value {
    case 0x20...0x7E: false
    case 0x00...0x1F, 0x7F...0x9F: true
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true  // Bidi controls.
    case 0x2028, 0x2029: true  // Line ends.
    case 0x180E, 0x200B, 0x2060...0x2064, 0x206A...0x206F: true  // Invisible.
    case 0xFEFF, 0xFFF9...0xFFFB: true  // Byte order mark; interlinear annotation hides text.
    case 0xE0000...0xE007F: true  // Tags: a second, unseen alphabet.
    default: false
    }
  }
}
