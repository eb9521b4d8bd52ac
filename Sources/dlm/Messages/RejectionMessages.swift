import DownloadModel
import Glibc

/// The message for a line that is not a request: `urls.txt:7: "htp:/x" is not a URL: …`.
struct RejectionMessages {
  /// - Parameter lists: those that were downloaded over https and name files at http.
  static func downgrades(_ lists: Set<String>) -> [String] {
    lists.sorted().map {
      "dlm: \($0) was downloaded over https, but names http URLs: others can read and change those files in transit"
    }
  }

  let line: String

  var said: String { "dlm: \(line)" }

  init(_ rejection: Rejection) {
    let list = rejection.list.isEmpty ? "\"\"" : rejection.list
    let place = rejection.line.map { "\(list):\($0)" } ?? (rejection.isOfList ? list : "")
    line = (place.isEmpty ? "" : place + (rejection.isOfList ? " " : ": ")) + Self.text(rejection)
  }

  private static func text(_ rejection: Rejection) -> String {
    let quoted = "\"\(rejection.text)\""
    // For a line of a list; typed text needs no such remedy.
    let remedy = rejection.line == nil ? "" : "; fix or remove it"
    switch rejection.reason {
    // For a list that is watched.
    case .unreadable(ESPIPE): return "is not a regular file; it is read again once it is one"
    case .unreadable(let number): return unreadable(rejection.list, number)
    case .unfetched(let error):
      // For a further page.
      let page = Redaction.redactedAddress(error.address ?? rejection.list)
      return "cannot be read\(rejection.list.hasSuffix(page) ? "" : " at \(page)"): \(FailureMessages(error).line)"
    case .damaged(let why): return "cannot be read from here on: \(why); download it again"
    case .noList(let what): return text(what)
    case .notUTF8: return "\(quoted) is not UTF-8; save the list as UTF-8"
    case .tooLong: return "\(quoted) is longer than any URL; is this a list?"
    case .row(let why): return "\(rejection.text.isEmpty ? "" : quoted + ": ")\(why)\(remedy)"
    case .option(let option):
      return "\"\(option)\" after \(rejection.text) is not an option of a line, or cannot be used; these are "
        + "\(LineOptions.help), each after a tab"
    case .otherHeaders:
      return "\(rejection.text) is listed before with other header lines; give one of them a name with out=NAME"
    case .thirdPartyScheme(let scheme):
      let matter = scheme == "file" ? "name files of this machine" : "lead your login to a server over \(scheme)"
      return "a list from elsewhere may not \(matter); add the line to a list of your own"
    case .thirdPartyHeader(let name):
      return "header=\(name) of \(rejection.text): a list at a URL may not send it there; if you trust the list, save "
        + "it as a file and use that, or give the header with -H"
    case .field(let field):
      let isPlace = field.hasPrefix("out=") || field.hasPrefix("dir=")
      return "\"\(field)\" of \(rejection.text) cannot be used\(isPlace ? ": files go below --directory" : "")\(remedy)"
    case .foreign(let kind): return "\(quoted) is not a line of \(kind)\(remedy)"
    case .malformed(let why): return malformed(rejection.text, why, remedy)
    }
  }

  private static func unreadable(_ list: String, _ number: Int32) -> String {
    let remedy =
      switch number {
      case EISDIR: "name a file in it"
      case ENOENT: UsageMessages.remedy(forMissing: list)
      default: "check its permissions"
      }
    return "cannot be read: \(String(cString: strerror(number))); \(remedy)"
  }

  private static func malformed(_ line: String, _ why: Address.Malformed, _ remedy: String) -> String {
    if line.first.map({ "\"'<".contains($0) }) == true { return "\(line) is in quotes: leave them out" }
    guard case .unsupportedScheme = why else { return "\"\(line)\" is not a URL: \(text(why))\(remedy)" }
    return "\"\(line)\": dlm downloads over \(schemes) only\(remedy)"
  }

  private static let schemes = Address.Scheme.allCases.filter { $0 != .data }.map(\.rawValue).joined(separator: ", ")

  private static func text(_ what: Rejection.NoList) -> String {
    let remedy = "to download it, give its URL"
    return switch what {
    case .binary: "is binary data, not a list of URLs; \(remedy)"
    case .page:
      "is a web page, not a list of URLs; \(remedy), or download what it links to with --accept '*.pdf'. It may be a "
        + "login page"
    case .markup(let root):
      "is XML of an unknown kind, <\(root)> (known: metalink, urlset, sitemapindex, rss, feed); \(remedy)"
    case .noLibrary(let library, let kind):
      "is \(kind), which is read with \(library): install it (Debian: apt install \(library))"
    case .heavy: "takes more than 128 MiB of memory to decompress: do that first, with zstd -d --memory=2GB or xz -d"
    case .utf16: "is UTF-16; save it as UTF-8"
    case .noBase: "names files, but not where they are; give the URL of their folder with --base"
    case .unmatched([]): "has no links to files for --accept"
    case .unmatched(let names):
      "has no link that matches --accept; its links: \(names.prefix(5).joined(separator: ", "))"
        + (names.count > 5 ? ", …" : "")
    case .checksums(let name): "has \(name) checksums, which dlm does not know; use a list by sha256sum or sha512sum"
    case .field(nil, let found, _):
      "does not tell which field holds the URLs"
        + (found.isEmpty ? "" : "; candidates: \(found.prefix(20).joined(separator: ", "))")
        + ". Choose with --url-field, in JSON also --items"
    case .field(let name?, let found, let option):
      "has no field \"\(name)\" for --\(option)"
        + (found.isEmpty ? "" : " (fields: \(found.prefix(20).joined(separator: ", ")))")
    case .lines(let count) where count <= ListDoubt.mostAtStart:
      "is not a list of URLs: none of its first \(count) lines is one; \(remedy)"
    case .lines(let count):
      "is not a list of URLs: \(count) of its lines are no URLs, and the rest is not read; \(remedy)"
    }
  }

  private static func text(_ why: Address.Malformed) -> String {
    switch why {
    case .empty: "it is empty"
    case .controlCharacter: "it has a control character in it"
    case .noScheme: "it does not start with http:// or https://"
    case .unsupportedScheme(let scheme): "\(scheme) is not supported"
    case .noHost: "the host is missing"
    case .hostOfFile: "a file: URL has no host, but three slashes: file:///path"
    case .badHost: "the host has characters that no host may have"
    case .badInternationalHost: "the host's name cannot be written in ASCII (IDNA), as networks need it"
    case .badPort: "the port is not a number from 1 to 65535"
    case .badData: "its data is not base64, or the comma before it is missing"
    }
  }
}
