import DownloadModel
import TestSupport
import Testing

@Suite("--expect: an error page under a picture's name is a failure")
struct ExpectTests {
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47] + SplitMix64.bytes(count: 3000, seed: 1)
  private static let page = Array("<!DOCTYPE html><title>Sorry</title>".utf8)

  private static func type(_ name: String?) -> FileOptions {
    FileOptions(etag: "\"1\"", headers: name.map { ["Content-Type: \($0)"] } ?? [])
  }

  @Test func whatComesInstead() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/good.png", .file(Self.png, Self.type("image/png")))
    origin.route("/unnamed.png", .file(Self.png, Self.type(nil)))
    origin.route("/page.png", .file(Self.page, Self.type("text/html")))
    origin.route("/liar.png", .file(Self.page, Self.type("image/png")))
    origin.route("/octets.png", .file(Self.page, Self.type("application/octet-stream")))
    let place = try Workplace()
    let paths = ["/good.png", "/unnamed.png", "/page.png", "/liar.png", "/octets.png"]
    _ = try place.list(
      paths.map { origin.url($0) } + ["\(origin.url("/page.png"))\tout=m.png\tmirror=\(origin.url("/good.png"))"])
    let run = try await place.dlm("get", "urls.txt", "--expect", "image/*")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(try place.names() == ["good.png", "m.png", "unnamed.png", "urls.txt"])
    #expect(run.errorText.contains("expected image/*, got text/html"), "\(run.errorText)")
    #expect(run.errorText.contains("leave out --expect"))
    for path in ["/liar.png", "/octets.png"] { #expect(origin.record.requests(to: path).count == 1) }
    // It is remembered; without it they come.
    #expect(try await place.dlm("get").status == 1)
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    #expect(try place.names().contains("liar.png"))
    let bad = try await place.dlm("get", "urls.txt", "--expect", "png")
    #expect(bad.status == 64 && bad.errorText.contains("--expect"), "\(bad.errorText)")
  }

  /// A line's own goes before the run's, and what is written of it says it again.
  @Test func theLinesOwn() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for path in ["/a.png", "/b.png", "/c.html"] { origin.route(path, .file(Self.page, Self.type("text/html"))) }
    origin.route("/good.png", .file(Self.png, Self.type(nil)))
    let place = try Workplace()
    let failing = "\(origin.url("/a.png"))\texpect=image/*"
    _ = try place.list([
      failing, origin.url("/b.png"), "\(origin.url("/c.html"))\texpect=text/html,text/plain",
      "\(origin.url("/good.png"))\texpect=image/*",
    ])
    let run = try await place.dlm(
      "get", "urls.txt", "--expect", "application/pdf", "--failed", "failed", "--write-list", "right", "--no-cache")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains("expected image/*, got text/html"), "\(run.errorText)")
    #expect(run.errorText.contains("expected application/pdf, got text/html"), "\(run.errorText)")
    #expect(try place.names() == ["c.html", "failed", "good.png", "right", "urls.txt"])
    let failed = try String(decoding: place.file("failed"), as: UTF8.self)
    #expect(failed.contains("\n\(failing)\n") && failed.contains("\n\(origin.url("/b.png"))\n"), "\(failed)")
    let right = try String(decoding: place.file("right"), as: UTF8.self)
    #expect(right.contains("\texpect=text/html,text/plain\n") && right.contains("\texpect=image/*\n"), "\(right)")
    // Without the run's own, only the line's is left to fail.
    let again = try await place.dlm("get", "failed", "--progress", "none")
    #expect(again.status == 1 && again.errorText.contains("expected image/*"), "\(again.errorText)")
    #expect(try place.names().contains("b.png") && !place.names().contains("a.png"))
    let elsewhere = try await place.dlm("get", "right", "-d", "elsewhere", "--no-cache")
    #expect(elsewhere.status == 0, "\(elsewhere.errorText)")
  }

  /// What an earlier run had taken as it came is no file of that type either.
  @Test func whatExistsAlready() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let fresh = FileOptions(etag: "\"1\"", headers: ["Content-Type: text/html", "Cache-Control: max-age=999"])
    origin.route("/a.png", .file(Self.page, fresh), .file(Self.png, Self.type("image/png")))
    origin.route("/b.png", .file(Self.page, fresh))
    origin.route("/c.png", .file(Self.png, Self.type("image/png")))
    let place = try Workplace()
    _ = try place.list(["/a.png", "/b.png", "/c.png"].map { origin.url($0) })
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    let offline = try await place.dlm("get", "urls.txt", "--expect", "image/*", "--offline")
    #expect(offline.status == 1, "\(offline.errorText)")
    #expect(offline.errorText.contains("the file on disk has another type"), "\(offline.errorText)")
    let run = try await place.dlm("get", "urls.txt", "--expect", "image/*")
    #expect(run.status == 1 && run.errorText.contains("expected image/*, got text/html"), "\(run.errorText)")
    #expect(run.errorText.contains("1 unchanged"), "\(run.errorText)")
    #expect(try place.names() == ["a.png", "b.png", "c.png", "urls.txt"])
    #expect(try place.file("a.png") == Self.png && place.file("b.png") == Self.page)
    #expect(origin.log.filter { $0.path == "/b.png" }.last?.headers["if-none-match"] == nil)
  }

  /// Status 0, since the server may be right; but nobody takes it for the file without having been warned.
  @Test(
    arguments: [
      ("/paper.pdf", "text/html; charset=utf-8", true), ("/x.TAR.GZ", "application/xhtml+xml", true),
      ("/paper.pdf", "application/pdf", false), ("/paper.html", "text/html", false), ("/paper", "text/html", false),
      ("/v1.2", "text/html", false),
    ])
  func aPageUnderAnotherName(path: String, type: String, isSaid: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/login", .file(Self.page, Self.type(type)))
    origin.route(path, .redirect(302, to: "/login"))
    let place = try Workplace()
    let name = path.dropFirst()
    let run = try await place.dlm("get", origin.url(path))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("calls it HTML: a login or error page?") == isSaid, "\(run.errorText)")
    #expect(
      run.errorText.contains("HTML under other names, perhaps login or error pages: \(name); ") == isSaid,
      "\(run.errorText)")
    let quiet = try await place.dlm("get", origin.url(path), "-q", "-d", "quiet", "--no-cache", "--summary-json", "-")
    #expect(quiet.status == 0 && quiet.errorText.contains("HTML under other names") == isSaid, "\(quiet.errorText)")
    #expect(quiet.outputText.contains("\"html\":\(isSaid ? 1 : 0)"), "\(quiet.outputText)")
    let events = try await place.dlm(
      "get", origin.url(path), "-d", "events", "--no-cache", "--progress", "json")
    #expect(events.outputText.contains("\"remark\":\"html\"") == isSaid, "\(events.outputText)")
    // A checksum, or a type, is the user's word.
    var hasher = ContentHasher(.sha256)
    hasher.update(Self.page)
    let known = try await place.dlm(
      "get", origin.url(path), "-d", "known", "--no-cache", "--checksum", "\(hasher.finish())")
    #expect(known.status == 0 && !known.errorText.contains("HTML"), "\(known.errorText)")
    let wanted = try await place.dlm(
      "get", origin.url(path), "-d", "wanted", "--no-cache", "--expect", "text/html,application/xhtml+xml")
    #expect(!wanted.errorText.contains("HTML"), "\(wanted.errorText)")
  }
}
