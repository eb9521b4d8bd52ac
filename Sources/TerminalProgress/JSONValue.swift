/// A value of RFC 8259, for programs: a line of progress, or what a command says with `--json`.
public enum JSONValue: Sendable, Equatable {
  case null
  case flag(Bool)
  case number(Int64)
  case decimal(Double)
  case text(String)
  case list([JSONValue])
  case object([String: JSONValue])

  /// Null for nil.
  public static func number(orNull number: Int64?) -> JSONValue { number.map { .number($0) } ?? .null }

  /// The value as it is written, an object's fields in the order of their names.
  public var text: String {
    switch self {
    case .null: "null"
    case .flag(let flag): flag ? "true" : "false"
    case .number(let number): String(number)
    case .decimal(let number): number.isFinite ? "\((number * 1000).rounded() / 1000)" : "null"
    case .text(let text): Self.quoted(text)
    case .list(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let fields):
      "{"
        + fields.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key)):\($0.value.text)" }.joined(
          separator: ",")
        + "}"
    }
  }

  /// RFC 8259 §7: quote, backslash and control characters are escaped, and so is all that a terminal must not
  /// get, since people look at such lines too. The value stays what it is.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\t": quoted += "\\t"
      case let scalar where TerminalText.isHarmful(scalar):
        for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
          let hex = String(unit, radix: 16)
          quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        }
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
