import DownloadModel

/// The parts of a request that the origin uses.
struct DemoRequest: Equatable {
  var method = "GET"
  /// Percent-encoded, without query.
  var path: String
  /// By lower-case names.
  var fields: [String: String] = [:]

  /// Whether the client asked for the connection to end with the answer (RFC 9112 §9.6).
  var wantsClose: Bool {
    let options = fields["connection"]?.lowercased().split(separator: ",") ?? []
    return options.contains { OptionalWhiteSpace.trimmed($0) == "close" }
  }
}

extension DemoRequest {
  /// From a head without the empty line that ends it; `nil` if it is not a request.
  init?(head: some Collection<UInt8>) {
    let lines = String(utf8: head).split(separator: "\r\n")
    guard let first = lines.first?.split(separator: " "), first.count == 3, first[2].hasPrefix("HTTP/1.") else {
      return nil
    }
    self.init(method: String(first[0]), path: String(first[1].prefix { $0 != "?" }))
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return nil }
      fields[line[..<colon].lowercased()] = String(OptionalWhiteSpace.trimmed(line[colon...].dropFirst()))
    }
  }
}
