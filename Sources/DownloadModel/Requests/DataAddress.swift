import FoundationEssentials

/// The content of a `data:` URL (RFC 2397): `data:[TYPE][;base64],DATA`.
package struct DataAddress: Sendable {
  package let mediaType: String
  package let bytes: [UInt8]

  package init?(_ text: String) {
    // By bytes: a combining mark after the comma forms one `Character` with it.
    guard Self.isMeant(text), let comma = text.utf8.firstIndex(of: .comma) else { return nil }
    let head = Substring(text.utf8[..<comma].dropFirst(5)).lowercased()
    let body = Substring(text.utf8[comma...].dropFirst().prefix { $0 != .numberSign })
    let octets = PercentEncoding.decode(body)
    mediaType = head.first == ";" || head.isEmpty ? "text/plain" : String(head.prefix { $0 != ";" })
    guard head.hasSuffix(";base64") else {
      bytes = octets
      return
    }
    guard let data = Base64.octets(octets) else { return nil }
    bytes = data
  }

  package static func isMeant(_ text: some StringProtocol) -> Bool { text.prefix(5).lowercased() == "data:" }

  /// `data`, with the usual file extension of its type.
  package var fileName: String {
    let type = mediaType.split(separator: "/").last ?? ""
    let usual = ["plain": "txt", "jpeg": "jpg", "svg+xml": "svg", "mpeg": "mp3", "javascript": "js", "x-icon": "ico"]
    let isPlain = type.utf8.count <= 8 && type.utf8.allSatisfy(\.isLetterOrDigit)
    return "data.\(usual[String(type)] ?? (isPlain ? String(type) : "bin"))"
  }
}
