import DownloadModel
import Foundation
import TestSupport
import Testing

@Suite("A line's own header lines, and what is kept of a line that failed", .serialized)
struct HeadersOfLinesTests {
  private static let fresh = FileOptions(headers: ["Cache-Control: max-age=600"])

  @Test func goToTheirOwnOriginAndBesideTheRuns() async throws {
    let (origin, other) = (try FaultyOrigin(), try FaultyOrigin())
    defer { origin.stop() }
    defer { other.stop() }
    let place = try Workplace()
    for path in ["/plain", "/own", "/cookie", "/last"] { origin.route(path, .file([1])) }
    origin.route("/away", .redirect(302, to: other.url("/there")))
    origin.route("/moved", .redirect(302, to: "/own"))
    other.route("/there", .file([2]))
    let own = "\theader=X-Own: 1\theader=X-Both: line\theader=User-Agent: me"
    _ = try place.list([
      origin.url("/plain"), origin.url("/own") + own, origin.url("/cookie") + "\theader=Cookie: c=line",
      origin.url("/away") + own + "\theader=Cookie: c=line", origin.url("/moved") + own, origin.url("/last"),
    ])
    let run = try await place.dlm(
      "get", "urls.txt", "-m", "sequential", "-H", "X-Both: run", "-H", "X-Run: 1", "-H", "Cookie: c=run")
    #expect(run.status == 0, "\(run.errorText)")
    func fields(_ seen: Seen?, _ names: String...) -> [String?] { names.map { seen?.headers[$0] } }
    func asked(_ path: String) -> Seen? { origin.record.requests(to: path).first }
    for path in ["/plain", "/last"] {
      #expect(fields(asked(path), "x-both", "x-run", "x-own", "cookie") == ["run", "1", nil, "c=run"])
    }
    #expect(fields(asked("/own"), "x-both", "x-run", "x-own", "user-agent") == ["line", "1", "1", "me"])
    #expect(fields(asked("/cookie"), "x-both", "cookie") == ["run", "c=line"])
    #expect(fields(asked("/away"), "x-own", "cookie") == ["1", "c=line"])
    let there = other.record.requests(to: "/there").first
    #expect(fields(there, "x-both", "x-run", "x-own", "cookie") == [nil, nil, nil, nil])
    #expect(there?.headers["user-agent"]?.hasPrefix("dlm/") == true)
    // Within the origin they go on.
    #expect(fields(origin.record.requests(to: "/own").last, "x-own") == ["1"])
  }

  /// The story: a list at a URL reached a cloud's metadata service, and another site of the same server (`Host`), with
  /// header lines of its author's (HTTP rule 49).
  @Test(arguments: ["X-Own: 1", "Host: internal", "Metadata-Flavor: Google"], [true, false])
  func aThirdPartysListSendsItsLinesHomeAlone(line: String, isHome: Bool) async throws {
    let (origin, other) = (try FaultyOrigin(), try FaultyOrigin())
    defer { origin.stop() }
    defer { other.stop() }
    let place = try Workplace()
    let file = isHome ? origin : other
    origin.route("/urls.txt", .file(Array("\(file.url("/f"))\theader=\(line)\n\(file.url("/g"))\n".utf8)))
    for path in ["/f", "/g"] { file.route(path, .file([1])) }
    let run = try await place.dlm("get", "--list", origin.url("/urls.txt"))
    let isSent = isHome && line.hasPrefix("X-Own")
    #expect(run.status == (isSent ? 0 : 1), "\(run.errorText)")
    #expect(try place.names() == (isSent ? ["f", "g"] : ["g"]))
    #expect(file.record.requests(to: "/f").map { $0.headers["x-own"] } == (isSent ? ["1"] : []))
    let name = line.prefix { $0 != ":" }.lowercased()
    #expect(isSent || run.errorText.contains("header=\(name) of \(file.url("/f"))"), "\(run.errorText)")
  }

  /// They make no other file, and decide for whom a stored answer may be used.
  @Test(arguments: [("X-Key: 1", true), ("X-Key: 2", false), (nil, false)] as [(String?, Bool)])
  func whoseAnAnswerIs(second: String?, isUsedUnasked: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/f", .file([1, 2], Self.fresh))
    _ = try place.list(["\(origin.url("/f"))\theader=X-Key: 1"])
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    _ = try place.list([origin.url("/f") + (second.map { "\theader=\($0)" } ?? "")])
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    #expect(origin.log.count == (isUsedUnasked ? 1 : 2))
    #expect(try place.names() == ["f", "urls.txt"])
  }

  @Test func oneFileIsNotAskedForInTwoWays() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for path in ["/f", "/g", "/h"] { origin.route(path, .file([1])) }
    let (f, g, h) = (origin.url("/f"), origin.url("/g"), origin.url("/h"))
    _ = try place.list([
      f + "\theader=A: 1", f + "\theader=A: 2", f + "\theader=A: 2\tout=other", f + "\theader=A: 1", f, g,
      g + "\theader=A: 1", h, h, f + "\tdir=d\theader=A: 3",
    ])
    let run = try await place.dlm("get", "urls.txt")
    #expect(run.status == 1)
    let told = run.errorText.split(separator: "\n").filter { $0.hasPrefix("dlm: urls.txt:") }
    #expect(told.map { String($0.dropFirst(14).prefix(6)) } == ["2: htt", "5: htt", "7: htt"], "\(run.errorText)")
    #expect(told.allSatisfy { $0.contains("is listed before with other header lines") })
    #expect(try place.names() == ["d", "f", "g", "h", "other", "urls.txt"])
  }

  /// Whoever names the URL first: a list at a URL takes no line of the user's away, and says no header lines for it.
  @Test(arguments: ["", "\theader=A: list"])
  func theUsersLineIsNotRefused(header: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let f = origin.url("/f")
    origin.route("/f", .file([1]))
    origin.route("/list", .file(Array("\(f)\(header)\n".utf8)))
    _ = try place.list([f + "\theader=A: own"], name: "own.txt")
    let run = try await place.dlm("get", origin.url("/list"), "own.txt", "--list", "-j", "1")
    #expect(run.status == 0 && !run.errorText.contains("other header lines"), "\(run.errorText)")
    #expect(origin.record.requests(to: "/f").contains { $0.headers["a"] == "own" })
    // The other way round, the list's is.
    _ = try place.list([f + "\theader=A: own"], name: "own.txt")
    let turned = try await place.dlm("get", "own.txt", origin.url("/list"), "--list", "-j", "1", "-d", "turned")
    if !header.isEmpty { #expect(turned.errorText.contains("other header lines"), "\(turned.errorText)") }
  }

  @Test func aFailedLineSaysWhatItSaid() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let sum = String(repeating: "ab", count: 32)
    let said = "\tsize=3\tdir=a b\tout=n%25\tsha256=\(sum)"
    _ = try place.list([origin.url("/none") + said + "\theader=Authorization: kAnaRy", origin.url("/also?x=1")])
    let run = try await place.dlm(
      "get", "urls.txt", "--failed", "failed", "-v", "--events", "events", "--report", "r.json")
    #expect(run.status == 1 && origin.record.requests(to: "/none").first?.headers["authorization"] == "kAnaRy")
    let failed = try String(decoding: place.file("failed"), as: UTF8.self)
    #expect(failed.contains("\n\(origin.url("/none"))\(said)\n"), "\(failed)")
    #expect(failed.contains("\n\(origin.url("/also?x=1"))\n"))
    for text in [failed, run.errorText]
      + (try ["events", "r.json"].map { String(decoding: try place.file($0), as: UTF8.self) })
    {
      #expect(!text.contains("kAnaRy"))
    }
    origin.route("/none", .file([1, 2, 3]))
    let again = try await place.dlm("get", "failed")
    #expect(again.errorText.contains("checksum mismatch"), "\(again.errorText)")
    #expect(try place.names(in: "a b") == ["n%.rejected"])
  }
}
