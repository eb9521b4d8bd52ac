import CurlTransport
import DownloadModel

enum ListLine {
  /// Blank, or a comment.
  case blank
  case address(Address, LineOptions?)
  case bad(Rejection.Reason, text: String)

  /// In bytes; servers commonly accept URLs of 8 KiB.
  static let limit = 64 * 1024

  /// - Parameter base: the URL of its list, to which the line may be relative.
  init(_ bytes: some BidirectionalCollection<UInt8>, base: Address? = nil) {
    let content = bytes.trimmed(\.isBlank)
    guard let first = content.first, first != .numberSign else {
      self = .blank
      return
    }
    let text = Array(content)
    if let fault = Self.fault(text) {
      self = fault
      return
    }
    do {
      let address = try Address(utf8: text)
      self = address.scheme == .s3 && address.hasCredentials ? Self.bucketWithLogin(content) : .address(address, nil)
    } catch {
      // A URL has no tab, so only an invalid line is searched for options.
      if error == .controlCharacter, let tab = text.firstIndex(of: 0x09) {
        self = Self.line(text[..<tab], options: text[tab...], base: base)
        return
      }
      let text = String(utf8: text)
      if case .unsupportedScheme(let scheme) = error, let address = Self.published(text, by: scheme.lowercased()) {
        let hasLogin = text.drop { $0 != ":" }.dropFirst(3).prefix { $0 != "/" }.contains("@")
        self = hasLogin ? Self.bucketWithLogin(content) : .address(address, nil)
      } else if error == .noScheme, DataAddress.isMeant(text) {
        self = Address(data: text).map { .address($0, nil) } ?? .bad(.malformed(.badData), text: Self.shown(text))
      } else if let base, error == .noScheme, !Self.namesScheme(content), first != UInt8(ascii: "<"),
        let address = AddressReference.resolve(text, against: base)
      {
        self = .address(address, nil)
      } else {
        self = .bad(.malformed(error), text: Self.shown(text))
      }
    }
  }

  private static func bucketWithLogin(_ text: some Collection<UInt8>) -> ListLine {
    let why =
      "a bucket takes no login in its URL; for s3:// use AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or --aws-profile"
    return .bad(.row(why), text: shown(String(utf8: text)))
  }

  /// A public object of Google's or Azure's storage, which is there over https.
  private static func published(_ text: String, by scheme: String) -> Address? {
    let rest = text.drop { $0 != ":" }.dropFirst(3)
    let account = rest.prefix { $0 != "/" }
    switch scheme {
    case "gs": return try? Address("https://storage.googleapis.com/\(rest)")
    case "az": return try? Address("https://\(account).blob.core.windows.net\(rest[account.endIndex...])")
    default: return nil
    }
  }

  var address: Address? { if case .address(let address, _) = self { address } else { nil } }

  /// A file whose path and URL a list gives.
  init(_ address: String, path: String, _ options: LineOptions, base: Address?) {
    var options = options
    self = ListLine(address.utf8, base: base)
    guard case .address(let address, _) = self else { return }
    self = options.setPath(path) ? .address(address, options) : .bad(.field("out=\(path)"), text: address.redacted)
  }

  /// Why a line is not text; `nil` if it is.
  static func fault(_ bytes: [UInt8]) -> ListLine? {
    if bytes.count > limit {
      return .bad(.tooLong, text: String(shown(String(utf8: bytes)).prefix(80)))
    }
    // ASCII is UTF-8, and nearly all lines are ASCII.
    if bytes.allSatisfy({ $0 < 0x80 }) || String(validating: bytes, as: UTF8.self) != nil { return nil }
    return .bad(.notUTF8, text: shown(String(utf8: bytes)))
  }

  private static func line(_ address: ArraySlice<UInt8>, options: ArraySlice<UInt8>, base: Address?) -> ListLine {
    let line = ListLine(address, base: base)
    guard case .address(let address, _) = line else { return line }
    do {
      return .address(address, try LineOptions(String(utf8: options)))
    } catch {
      return .bad(error, text: address.redacted)
    }
  }

  /// `mailto:x` is not a relative path (RFC 3986 §4.2).
  private static func namesScheme(_ bytes: some Collection<UInt8>) -> Bool {
    bytes.prefix { !"/?".utf8.contains($0) }.contains(.colon)
  }

  /// A line that is not a URL may still contain a login or a signature.
  static func shown(_ text: String) -> String {
    let text = Redaction.redactedAddress(text)
    return text.count > 120 ? text.prefix(119) + "…" : text
  }
}

extension Address {
  /// The URL in a parameter of a known redirector's page; `nil` for any other URL.
  var unwrapped: Address? {
    // By path first, because most URLs with a query do not match.
    guard let query else { return nil }
    let place = path.unicodeScalars.last == "/" ? path.dropLast() : path
    guard let redirectors = Self.redirectors[place.isEmpty ? "-" : place] else { return nil }
    let site = site
    guard let names = redirectors.first(where: { $0[1] == site })?.dropFirst(2) else { return nil }
    return query.split(separator: "&").lazy.compactMap { parameter -> Address? in
      let parts = parameter.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, names.contains(parts[0]) else { return nil }
      let text = String(validating: PercentEncoding.decode(parts[1]), as: UTF8.self)
      return text.flatMap { try? Address($0) }.flatMap { $0.scheme.isHTTP ? $0 : nil }
    }.first
  }

  /// A page a line: its path, - for none, its site, and the parameters that may have the URL.
  private static let redirectorTable = """
    - exit.sc url
    - l.instagram.com u
    /away.php vk.com to
    /images/search bing.com mediaurl
    /images/search yandex.com img_url
    /imgres google imgurl
    /l duckduckgo.com uddg
    /l.php facebook.com u
    /l.php l.facebook.com u
    /l.php lm.facebook.com u
    /link slack-redir.net url
    /linkfilter steamcommunity.com u url
    /offsite pinterest.com url
    /r medium.com url
    /redir/redirect linkedin.com url
    /redirect t.umblr.com z
    /redirect youtube.com q
    /url google url q
    """

  /// By path.
  private static let redirectors = Dictionary(
    grouping: redirectorTable.split(separator: "\n").map { $0.split(separator: " ") }, by: { $0[0] })

  /// The host without insignificant labels; one name for all of Google's (google.de, google.co.uk).
  private var site: String {
    let labels = host.split(separator: ".").drop { ["www", "m", "images"].contains($0) }
    let ending = labels.dropFirst()
    let isGoogle =
      labels.first == "google" && ending.last.map { $0 == "com" || $0.utf8.count == 2 } == true
      && (ending.count == 1 || ending.count == 2 && ["co", "com"].contains(ending.first))
    return isGoogle ? "google" : labels.joined(separator: ".")
  }
}
