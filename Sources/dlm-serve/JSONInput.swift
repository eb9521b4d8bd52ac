import DownloadModel

/// A JSON value of a form that is not known beforehand (JSON-RPC 2.0 §4).
enum JSONInput: Decodable, Equatable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case text(String)
  case list([JSONInput])
  case object([String: JSONInput])

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let integer = try? value.decode(Int64.self) {
      self = .integer(integer)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let text = try? value.decode(String.self) {
      self = .text(text)
    } else if let list = try? value.decode([JSONInput].self) {
      self = .list(list)
    } else {
      self = .object(try value.decode([String: JSONInput].self))
    }
  }

  subscript(_ name: String) -> JSONInput? {
    if case .object(let fields) = self { fields[name] } else { nil }
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }

  var list: [JSONInput]? { if case .list(let values) = self { values } else { nil } }

  var json: JSONValue {
    switch self {
    case .null: .null
    case .bool(let bool): bool.json
    case .integer(let integer): integer.json
    case .number(let number): .literal("\(number)")
    case .text(let text): .text(text)
    case .list(let values): .list(values.map(\.json))
    case .object(let fields): .object(fields.mapValues(\.json))
    }
  }
}
