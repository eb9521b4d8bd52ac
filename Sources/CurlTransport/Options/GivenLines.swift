import DownloadModel

/// Header lines of a user or a list, with the meanings that the transport needs.
struct GivenLines {
  /// In lower case.
  let names: [String]
  /// RFC 6265 §5.4 requires one line together with the servers' cookies, so they are not sent as a header line.
  let cookies: String?
  let others: [String]
  let showsLogin: Bool

  init(_ lines: [String]) {
    let fields = lines.map(HeaderLine.init)
    names = fields.map(\.name)
    let cookies = fields.filter { $0.name == "cookie" && !$0.value.isEmpty }.map(\.value)
    self.cookies = cookies.isEmpty ? nil : cookies.joined(separator: "; ")
    others = zip(names, lines).filter { $0.0 != "cookie" }.map(\.1)
    showsLogin = names.contains("authorization")
  }

  private static let none = GivenLines([])

  static func own(of request: TransferRequest, for place: Address) -> GivenLines {
    let lines = request.ownLines(for: place)
    return lines.isEmpty ? none : GivenLines(lines)
  }
}
