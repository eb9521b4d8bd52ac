import DownloadModel

/// Documents of storage that speaks S3: refusals, and the pages of a listing. Read by their elements' names alone.
enum S3Answer {
  /// In bytes, of a refusal.
  static let longest = 8 * 1024
  /// In bytes: a thousand keys of a KiB, with all that is said of each.
  static let longestPage = 8 << 20

  static var endless: DownloadError {
    DownloadError(.badResponse, "it has too many pages, or too long ones", "reading the folder")
  }

  /// The failure that a 400 or 403 means, by the reason that its document gives.
  static func refusal(_ status: Int, _ body: [UInt8]) -> DownloadError {
    let code = values(of: "Code", in: body[...]).first ?? ""
    let message = values(of: "Message", in: body[...]).first ?? ""
    let reason = String([code, message].filter { !$0.isEmpty }.joined(separator: ": ").prefix(300))
    return DownloadError(.status, cause: .reply(code: status, text: reason), isTransient: code == expired)
  }

  fileprivate static let expired = "ExpiredToken"

  struct Page {
    let links: [UInt8]
    /// `nil` on the last page.
    let next: String?
  }

  /// A page of ListObjectsV2 as links, which are read like those of any page.
  static func page(_ body: [UInt8], of folder: Address) -> Page {
    let prefix = PercentEncoding.decode(folder.path.dropFirst())
    let folders = elements("CommonPrefixes", in: body[...]).flatMap { values(of: "Prefix", in: $0) }
    let keys = (values(of: "Key", in: body[...]) + folders).filter {
      $0.utf8.starts(with: prefix) && $0.utf8.count > prefix.count
    }
    // Absolute, because a key may have dots between slashes, which a relative link would lose.
    let links = keys.map { "<a href=\"s3://\(folder.host)/\(PercentEncoding.encode($0, keeping: "/"))\"></a>\n" }
    return Page(
      links: links.flatMap { Array($0.utf8) }, next: values(of: "NextContinuationToken", in: body[...]).first)
  }

  private static func elements(_ name: String, in document: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    var found: [ArraySlice<UInt8>] = []
    var rest = document
    while let start = rest.place(of: "<\(name)>"), case let body = rest[start.upperBound...],
      let end = body.place(of: "</\(name)>")
    {
      found.append(body[..<end.lowerBound])
      rest = body[end.upperBound...]
    }
    return found
  }

  /// The texts of all elements of a name, without entities.
  private static func values(of name: String, in document: ArraySlice<UInt8>) -> [String] {
    elements(name, in: document).map { $0.contains(UInt8(ascii: "&")) ? unescaped(String(utf8: $0)) : String(utf8: $0) }
  }

  private static let entities = ["lt": "<", "gt": ">", "quot": "\"", "apos": "'", "amp": "&"]

  private static func unescaped(_ text: String) -> String {
    text.replacing(/&(?:#x([0-9A-Fa-f]{1,6})|#([0-9]{1,7})|([a-z]+));/) { match in
      let number = match.1.flatMap { UInt32($0, radix: 16) } ?? match.2.flatMap { UInt32($0) }
      if let scalar = number.flatMap(Unicode.Scalar.init) { return String(Character(scalar)) }
      return match.3.flatMap { entities[String($0)] } ?? String(match.0)
    }
  }
}

extension DownloadError {
  /// Whether the login must be read again: another attempt may succeed.
  var isExpiredLogin: Bool {
    if case .reply(_, let text)? = cause { text.hasPrefix("\(S3Answer.expired):") } else { false }
  }
}
