import FoundationEssentials

extension Decodable {
  /// `nil` for a text that is not JSON (RFC 8259), or of another form.
  package init?(json: some Sequence<UInt8>) {
    guard let value = try? JSONDecoder().decode(Self.self, from: Data(json)) else { return nil }
    self = value
  }
}
