/// Status and header fields of a final response, as the received bytes: a field costs nothing until it is read.
package struct ResponseHead: Sendable {
  package let status: Int
  /// The URL that answered, without credentials, if redirects led away from the requested one.
  package var effectiveURL: String?
  /// Whether the host throttles with this status (`ThrottlingStatuses`).
  package var isRefusal = false
  /// For a 401: whether the request carried a login.
  package var sentLogin = false
  /// What the first bytes of the body show about its last coding, if it has one (`bodyCoding`).
  package var seenCoding = SeenCoding.once
  private let block: [UInt8]
  private let starts: [Int]
  /// Content-Length (RFC 9110 §8.6) in bytes; `nil` if absent, malformed, or given twice with different values. Parsed
  /// once, because both the framing and the file need it.
  package private(set) var contentLength: Int64?

  /// - Parameter block: header lines separated by LF or CRLF, without the status line; `starts` has the offset of each.
  package init(status: Int, block: [UInt8], starts: [Int]) {
    self.status = status
    self.block = block
    self.starts = starts
    contentLength = self["content-length"].flatMap(Self.length)
  }

  /// A head that no server sent as such.
  package init(status: Int, lines: [String]) {
    let ended = lines.map { Array("\($0)\n".utf8) }
    let starts = ended.indices.map { ended[..<$0].reduce(0) { $0 + $1.count } }
    self.init(status: status, block: ended.flatMap { $0 }, starts: starts)
  }

  /// The values of all lines of that name, without surrounding blanks, joined with ", " (RFC 9110 §5.3); `nil` without
  /// such a line. A value that is not UTF-8 is read as ISO-8859-1, which older servers use (RFC 9110 §5.5).
  /// - Parameter name: lower case.
  package subscript(_ name: StaticString) -> String? {
    var found: String?
    forEachValue(of: name) { value in
      let text = Self.text(value)
      found = found.map { $0 + ", " + text } ?? text
    }
    return found
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    // Validation is the slowest step for a value, and nearly all values are ASCII.
    if bytes.allSatisfy({ $0 < 0x80 }) { return String(utf8: bytes) }
    return String(validating: bytes, as: UTF8.self)
      ?? String(String.UnicodeScalarView(bytes.map(Unicode.Scalar.init)))
  }

  /// Whether the status means the whole file: unknown codes of the class 2xx count as 200 (RFC 9110 §15), and 203 is a
  /// 200 that a proxy changed. A 202 with Retry-After says that the file is not ready yet. Such an answer may have a
  /// Content-Range, too (HTTP rule 2).
  package var isWhole: Bool {
    switch status {
    case _ where isRefusal: false
    case 202: self["retry-after"] == nil
    case 200...203, 209...225, 227...299: true
    default: false
    }
  }

  /// In bytes: 1 PiB, longer than any file. A larger length from a server is invalid.
  package static let longestFile: Int64 = 1 << 50

  private static func length(_ field: String) -> Int64? {
    if !field.utf8.contains(.comma) { return number(field[...]) }
    let lengths = Set(field.split(separator: ",").map { number(OptionalWhiteSpace.trimmed($0)) })
    return lengths.count == 1 ? lengths.first ?? nil : nil
  }

  /// Only digits, and few enough that sums of several numbers cannot overflow (HTTP rule 26).
  static func number(_ text: Substring) -> Int64? {
    text.utf8.count <= 18 && text.utf8.allSatisfy(\.isDigit) ? Int64(text) : nil
  }

  /// The next page according to `Link` (`rel="next"`, RFC 8288 §3), relative to the URL of this answer.
  package var next: String? { links("next").first.map { String($0.target) } }

  struct Link {
    /// As written.
    let target: Substring
    /// By name; both in lower case.
    let parameters: [String: String]

    /// The mirror with the lowest number comes first (RFC 6249 §3.1).
    var priority: Int { parameters["pri"].flatMap { Int($0) } ?? .max }
  }

  /// The links of a relation (RFC 8288 §3). A link with an anchor belongs to another resource, and is skipped.
  func links(_ relation: String) -> [Link] {
    (self["link"]?.split(separator: "<") ?? []).compactMap { link in
      guard let end = link.firstIndex(of: ">") else { return nil }
      var parameters: [String: String] = [:]
      for parameter in link[end...].dropFirst().split(whereSeparator: { ";,".contains($0) }) {
        let parts = parameter.split(separator: "=", maxSplits: 1).map { OptionalWhiteSpace.trimmed($0).lowercased() }
        // The first of equal parameters counts.
        if parts.count == 2, parameters[parts[0]] == nil { parameters[parts[0]] = parts[1] }
      }
      let relations = parameters["rel"]?.split { "\" ".contains($0) } ?? []
      guard parameters["anchor"] == nil, relations.contains(Substring(relation)) else { return nil }
      return Link(target: link[..<end], parameters: parameters)
    }
  }

  /// How many more requests the host accepts, and the time until it accepts others; `nil` if unknown. Read from
  /// `RateLimit`, in its present and earlier forms (draft-ietf-httpapi-ratelimit-headers), or `X-RateLimit-Remaining`;
  /// the strictest of several.
  package var allowance: RequestAllowance? {
    func item(_ left: String?, _ reset: @autoclosure () -> String?) -> String? {
      left.map { "r=\($0);t=\(reset() ?? "")" }
    }
    // An answer from a cache along the path says nothing about the present.
    guard
      let field = self["ratelimit"] ?? item(self["ratelimit-remaining"], self["ratelimit-reset"])
        ?? item(self["x-ratelimit-remaining"], self["x-ratelimit-reset"]), Int(self["age"] ?? "0") == 0
    else { return nil }
    let policies = Self.items(self["ratelimit-policy"] ?? "")
    func number(_ text: Substring?) -> Int64? { text.flatMap { Self.number($0.prefix { $0.isNumber }) } }
    return Self.items(field).compactMap { item in
      let window = policies.first { $0[""] == item[""] }?["w"]
      guard let left = number(item["r"] ?? item["remaining"]),
        var reset = number(item["t"] ?? item["reset"]) ?? number(window)
      else { return nil }
      // GitHub and Zenodo send a time by the clock of their Date field, others a number of seconds. The magnitudes
      // differ.
      if reset >= 1_000_000_000 { reset -= self["date"].flatMap { HTTPDate($0)?.seconds } ?? reset }
      return (1...Self.longestReset).contains(reset) ? (Int(left), .seconds(reset)) : nil
    }.min { ($0.left, $1.time) < ($1.left, $0.time) }
  }

  /// In seconds. No run spreads its requests over more than a day.
  private static let longestReset: Int64 = 86_400

  /// Items of a list or dictionary of structured fields (RFC 9651), each with its parameters, and its name under "".
  private static func items(_ field: String) -> [[Substring: Substring]] {
    field.split(whereSeparator: { ",;".contains($0) }).reduce(into: [[:]]) { items, token in
      let parts = token.split(separator: "=", maxSplits: 1).map { OptionalWhiteSpace.trimmed($0) }
      if parts.count == 2 { items[items.count - 1][parts[0]] = parts[1] } else { items.append(["": parts.first ?? ""]) }
    }
  }

  package var contentRange: ContentRange? { self["content-range"].flatMap(ContentRange.init) }

  /// The coding of a body beyond the form in which the origin stores it (RFC 9110 §8.4).
  package enum BodyCoding: Sendable, Equatable {
    case none
    /// The codings, in the order in which they were applied.
    case known([ContentCoding])
    case unknown
  }

  /// What the first bytes of a body show about the coding that its head names (HTTP rule 35).
  package enum SeenCoding: Sendable {
    /// The bytes are not coded.
    case absent
    case once
    /// The bytes are coded, and so is the decoded result.
    case twice
  }

  /// The codings that a Content-Encoding names, without `identity`.
  package static func codings(in field: String) -> [Substring] {
    field.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.filter { $0 != "identity" }
  }

  /// The codings in Content-Encoding. dlm requests `identity`, but some servers send another coding.
  package var bodyCoding: BodyCoding {
    guard let field = self["content-encoding"] else { return .none }
    let tokens = Self.codings(in: field)
    guard !tokens.isEmpty else { return .none }
    let codings = tokens.compactMap(ContentCoding.init)
    return codings.count == tokens.count ? .known(codings) : .unknown
  }

  @inline(__always)
  private func forEachValue(of name: StaticString, _ body: (ArraySlice<UInt8>) -> Void) {
    let wanted = name.utf8Start
    let count = name.utf8CodeUnitCount
    // Without bounds checks, because a dozen fields are looked up in each head, most of them absent.
    block.withUnsafeBufferPointer { bytes in
      starts.withUnsafeBufferPointer { starts in
        for (index, start) in starts.enumerated() {
          let end = index + 1 < starts.count ? starts[index + 1] : bytes.count
          let colon = start + count
          guard colon < end, bytes[colon] == .colon else { continue }
          var offset = 0
          while offset < count, bytes[start + offset].lowercased == wanted[offset] { offset += 1 }
          if offset == count { body(Self.value(block[colon + 1..<end])) }
        }
      }
    }
  }

  /// The value behind a colon, without the line end.
  private static func value(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var end = bytes.endIndex
    while end > bytes.startIndex, bytes[end - 1] == 0x0A || bytes[end - 1] == 0x0D { end -= 1 }
    return OptionalWhiteSpace.trimmed(bytes[..<end])
  }
}

/// The values that distinguish one version of a file from the next (RFC 9110 §8.8).
package struct Validator: Sendable, Equatable, Codable {
  /// The entity tag as sent, with quotes and a possible `W/`.
  package var etag: String?
  package var lastModified: String?
  /// Date as sent: it decides whether Last-Modified is strong.
  package var date: String?

  package init(etag: String? = nil, lastModified: String? = nil, date: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
    self.date = date
  }

  package init(_ head: ResponseHead) {
    self.init(etag: head["etag"], lastModified: head["last-modified"], date: head["date"])
  }

  /// An entity tag that promises equal bytes (RFC 9110 §8.8.3).
  package var strongETag: String? {
    etag.flatMap { $0.hasPrefix("\"") && $0.count >= 2 && $0.hasSuffix("\"") ? $0 : nil }
  }

  package var isEmpty: Bool { etag == nil && lastModified == nil }

  /// Without values that a header line must not contain: a server may send a bare CR, and other programs may change
  /// files on disk.
  package var fitForHeaders: Validator {
    func clean(_ text: String?) -> String? {
      text.flatMap { $0.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? nil : $0 }
    }
    return Validator(etag: clean(etag), lastModified: clean(lastModified), date: clean(date))
  }
}

package enum HTTPStatus {
  /// Whether a retry may help (RFC 9110 §15, HTTP rule 11). Cloudflare's 520 to 525 mean that it did not reach the
  /// origin for now, or not in time; its 526 means that it rejected the origin's certificate, which a retry does not
  /// change.
  package static func isTransient(_ status: Int) -> Bool {
    switch status {
    case 202, 408, 425, 429: true
    case 501, 505, 526: false
    default: status >= 500
    }
  }

  /// Whether the host refuses requests, and not only this file fails.
  package static func isRefusal(_ status: Int) -> Bool { status == 429 || status == 503 }
}

/// How many more requests a host accepts, and the time until it accepts others.
package typealias RequestAllowance = (left: Int, time: Duration)

/// Statuses with which a host throttles: they count as a refusal by the host, like 429 and 503 (`--retry-on`).
package struct ThrottlingStatuses: Sendable, Equatable, CustomStringConvertible {
  package let description: String
  private let text: ValueForHost
  private var statuses: [ClosedRange<Int>] = []

  /// - Parameter text: `403,5xx`, or `HOST=202`; `nil` for a status that cannot end a download.
  package init?(_ text: String) {
    description = text
    guard let value = ValueForHost(text.lowercased()) else { return nil }
    self.text = value
    for part in value.value.split(separator: ",", omittingEmptySubsequences: false) {
      let item = OptionalWhiteSpace.trimmed(part)
      let isClass = item.hasSuffix("xx")
      guard let first = Int(isClass ? item.dropLast(2) + "00" : item),
        (200...299).contains(first) || (400...599).contains(first)
      else { return nil }
      statuses.append(first...(isClass ? first + 99 : first))
    }
  }

  package func contains(_ status: Int, of address: Address) -> Bool {
    statuses.contains { $0.contains(status) } && text.isFor(address)
  }
}

/// Blanks and tabs, which may surround the parts of a field's value (OWS, RFC 9110 §5.6.3).
package enum OptionalWhiteSpace {
  @inlinable
  package static func contains(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  @inlinable
  package static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
    guard let start = bytes.firstIndex(where: { !contains($0) }), let last = bytes.lastIndex(where: { !contains($0) })
    else { return bytes[bytes.endIndex...] }
    return bytes[start...last]
  }

  @inlinable
  package static func trimmed(_ text: Substring) -> Substring { Substring(trimmed(text.utf8)) }
}
