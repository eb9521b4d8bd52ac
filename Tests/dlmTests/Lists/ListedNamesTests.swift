import DownloadModel
import Foundation
import TestSupport
import Testing

@Suite("Names that a list chooses (HTTP rule 50)")
struct ListedNamesTests {
  /// A name of the list, and the file that it gives.
  private struct Name: Sendable {
    let listed: String
    /// Where dlm's own user may choose it; nil for what is cleaned there, too.
    var own: String?
    let cleaned: String
    /// XML cannot hold every control character.
    var isText = true
  }

  private static let names = [
    Name(listed: ".bashrc", own: ".bashrc", cleaned: "_bashrc"),
    Name(listed: ".ssh/authorized_keys", own: ".ssh/authorized_keys", cleaned: "_ssh/authorized_keys"),
    Name(listed: "-rf", own: "-rf", cleaned: "_rf"),
    Name(listed: "sub/--version", own: "sub/--version", cleaned: "sub/_-version"),
    Name(listed: ".dlm.conf", own: ".dlm.conf", cleaned: "_dlm.conf"),
    Name(listed: "gpj.\u{202E}exe", cleaned: "gpj.exe"),
    Name(listed: "e\u{1B}[31mred", cleaned: "e[31mred", isText: false),
    Name(listed: "c\u{9B}31m", cleaned: "c31m"),
  ]

  enum Format: String, CaseIterable, Sendable {
    case lines, aria2, csv, json, metalink, bag, checksums, apt

    var file: String {
      switch self {
      case .lines, .aria2, .apt: "list.txt"
      case .csv: "list.csv"
      case .json: "list.json"
      case .metalink: "list.meta4"
      case .bag: "fetch.txt"
      case .checksums: "SHA256SUMS"
      }
    }

    func text(_ files: [(url: String, name: String)], sum: String) -> String {
      let lines = files.map { url, name in
        switch self {
        case .lines: "\(url)\tout=\(name)"
        case .aria2: "\(url)\n  out=\(name)"
        case .csv: "\(url),\(name)"
        case .json: "{\"url\": \"\(url)\", \"name\": \"\(name.replacing("\u{1B}", with: "\\u001b"))\"}"
        case .metalink: "<file name=\"\(name)\"><url>\(url)</url></file>"
        case .bag: "\(url) - \(name)"
        case .checksums: "\(sum)  \(name)"
        case .apt: "'\(url)' \(name) 0"
        }
      }
      return switch self {
      case .csv: "url,name\n" + lines.joined(separator: "\n") + "\n"
      case .json: "[" + lines.joined(separator: ",\n") + "]"
      case .metalink:
        "<?xml version=\"1.0\"?><metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">\(lines.joined())</metalink>"
      default: lines.joined(separator: "\n") + "\n"
      }
    }

    var options: [String] { self == .csv || self == .json ? ["--name-field", "name"] : [] }
  }

  @Test(arguments: Format.allCases, [false, true])
  func areCleaned(format: Format, isAtAddress: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let body: [UInt8] = [1, 2, 3]
    let names = Self.names.filter { format != .metalink || $0.isText }
    let files = names.enumerated().map { (url: origin.url("/f/\($0)"), name: $1.listed) }
    for (index, name) in names.enumerated() {
      origin.route("/f/\(index)", .file(body))
      origin.route("/\(PercentEncoding.encode(name.listed, keeping: "/"))", .file(body))
    }
    let text = Array(format.text(files, sum: ContentHasher.digest(of: body).hex).utf8)
    origin.route("/\(format.file)", .file(text))
    _ = try place.folder.write(text, to: "work/\(format.file)")
    var arguments = ["get", isAtAddress ? origin.url("/\(format.file)") : format.file, "--list", "-d", "out"]
    if format == .checksums { arguments += ["--base", origin.url("/")] }
    let run = try await place.start(arguments + format.options).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    let isOwn = format == .lines && !isAtAddress
    let expected = names.map { "out/" + (isOwn ? $0.own ?? $0.cleaned : $0.cleaned) }
    #expect(try Self.files(place) == Set(expected.map { Array($0.utf8) }))
  }

  /// The URL alone may name a file, too: in another program's list, that list chose it.
  @Test(arguments: [
    ("urls.txt", "", [".profile", "-x"]), ("urls.csv", "url,size\n", ["_profile", "_x"]),
  ])
  func fromURLs(file: String, head: String, expected: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for name in [".profile", "-x"] { origin.route("/\(name)", .file([1])) }
    let end = file == "urls.csv" ? ",1" : ""
    let text = head + "\(origin.url("/.profile"))\(end)\n\(origin.url("/-x"))\(end)\n"
    _ = try place.folder.write(Array(text.utf8), to: "work/\(file)")
    for mode in [["--dry-run"], ["-j", "1"]] {
      let run = try await place.start(["get", file, "--list", "-d", "out"] + mode).waitForExit()
      #expect(run.status == 0, "\(run.errorText)")
      if mode == ["--dry-run"] {
        for name in expected { #expect(run.outputText.contains("out/\(name)"), "\(run.outputText)") }
      }
    }
    #expect(try Set(place.names(in: "out")) == Set(expected))
  }

  /// What a pipe brought is kept in dlm's own format, in which names are the user's.
  @Test func thePipedListIsKeptClean() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/f", .file([1]))
    let list = Format.metalink.text([(origin.url("/f"), ".bash_login")], sum: "")
    #expect(try await place.dlm("get", "-", input: Array(list.utf8)).status == 0)
    let again = try await place.dlm("get", "-d", "again")
    #expect(again.status == 0, "\(again.errorText)")
    #expect(try place.names() == ["_bash_login", "again"] && place.names(in: "again") == ["_bash_login"])
  }

  /// A hook or a shell's `*` would take it for an option.
  @Test func aServerNamesNoOption() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let headers = ["Content-Disposition: attachment; filename=\"--version\""]
    origin.route("/f", .file([1], FileOptions(headers: headers)))
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try place.names() == ["_-version"])
    let refused = try await place.dlm("get", origin.url("/f"), "-o", "a\u{202E}b")
    #expect(refused.status == 64 && refused.errorText.contains("control characters"), "\(refused.errorText)")
  }

  /// By bytes.
  private static func files(_ place: Workplace) throws -> Set<[UInt8]> {
    var isFolder: ObjCBool = false
    let paths = try FileManager.default.subpathsOfDirectory(atPath: place.work).filter { path in
      path.hasPrefix("out/") && FileManager.default.fileExists(atPath: place.work + "/" + path, isDirectory: &isFolder)
        && !isFolder.boolValue
    }
    return Set(paths.map { Array($0.utf8) })
  }
}
