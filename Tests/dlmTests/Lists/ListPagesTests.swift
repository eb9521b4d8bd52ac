import DownloadModel
import TestSupport
import Testing

@testable import dlm

@Suite("The pages of a JSON list")
struct ListPagesTests {
  @Test(
    arguments: [
      ("<https://h/p?page=2>; rel=\"next\"", "https://h/p?page=2"), ("</p2>;rel=next", "/p2"),
      ("<https://h/1>; rel=\"prev\", <https://h/3>; title=\"a, b; c\"; rel=\"last NEXT\"", "https://h/3"),
      ("<https://h/a,b;c>; REL=next", "https://h/a,b;c"), ("<x>; rel=\"nextish\"", nil), ("<x>; rev=next", nil),
      ("x; rel=next", nil), ("<x; rel=next", nil), ("", nil),
    ] as [(String, String?)])
  func linkField(field: String, next: String?) {
    #expect(ResponseHead(status: 200, block: Array("Link: \(field)\r\n".utf8), starts: [0]).next == next)
  }

  @Test(
    arguments: [
      ("links.next", #"{"links":{"self":"a","next":"/2"},"i":[{"url":"http://h/x"}]}"#, "/2"),
      ("links.next", #"{"i":[{"url":"http://h/x","links":{"next":"no"}}],"links":{"next":null}}"#, nil),
      ("next", #"{"i":[{"url":"http://h/x"}],"next":"http:\/\/h\/2"}"#, "http://h/2"),
      ("links", #"{"links":[{"rel":"self","href":"1"},{"href":"2","rel":"next"}],"i":[{"url":"http://h/x"}]}"#, "2"),
      ("links", #"{"i":[{"url":"http://h/x"}],"links":[{"rel":"next","href":"2"},{"rel":"last","href":"9"}]}"#, "2"),
      ("links", #"{"i":[{"url":"http://h/x"}],"links":[{"rel":"next"},{"href":"9"}]}"#, nil),
      ("meta.more", #"{"i":[{"url":"http://h/x","meta":{"more":"9"}}]}"#, nil),
    ] as [(String, String, String?)])
  func field(path: String, text: String, next: String?) throws {
    for size in [1, 7, text.utf8.count] {
      var fields = RowFields()
      fields.names = [.url: "url"]
      var (reader, rest) = (JSONItems(fields, items: "i[]", next: path), Array(text.utf8)[...])
      while !rest.isEmpty {
        _ = try reader.take(Array(rest.prefix(size)), base: nil)
        rest = rest.dropFirst(size)
      }
      _ = try reader.take([], base: nil)
      #expect(reader.next == next)
      reader.turnPage()
      #expect(try reader.next == nil && reader.take(Array(#"{"i":[]}"#.utf8), base: nil).isEmpty)
      #expect(try reader.take([], base: nil).isEmpty)
    }
  }

  private static func page(_ names: String..., next: String? = nil) -> [UInt8] {
    let items = names.map { "{\"url\":\"/files/\($0)\"}" }.joined(separator: ",")
    return Array("{\"items\":[\(items)]\(next.map { ",\"more\":\"\($0)\"" } ?? "")}".utf8)
  }

  private static func link(_ address: String) -> FileOptions {
    FileOptions(headers: ["Link: <\(address)>; rel=\"next\""])
  }

  private static func origin() throws -> FaultyOrigin {
    let origin = try FaultyOrigin()
    for name in ["a", "b", "c", "d"] { origin.route("/files/\(name)", .file(Array(name.utf8))) }
    return origin
  }

  /// By the header, and by a field; the last one may be empty.
  @Test func areRead() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/1", .file(Self.page("a", "b"), Self.link("2")))
    origin.route("/2", .file(Self.page("c"), Self.link("/3")))
    origin.route("/3", .file(Self.page()))
    origin.route("/f1", .file(Self.page("a", next: "/f2"), Self.link("/wrong")))
    origin.route("/f2", .file(Self.page("d")))
    let place = try Workplace()
    let run = try await place.dlm("get", "--list", origin.url("/1"), "-H", "X-Own: 1")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names() == ["a", "b", "c"])
    #expect(["/2", "/3"].allSatisfy { origin.record.requests(to: $0).first?.headers["x-own"] == "1" })
    #expect(run.errorText.ranges(of: "JSON, URLs in").count == 1)
    let field = try await place.dlm("get", "--list", origin.url("/f1"), "--next-field", "more", "-d", "f")
    #expect(field.status == 0 && origin.record.requests(to: "/wrong").isEmpty, "\(field.errorText)")
    #expect(try place.names(in: "f") == ["a", "d"])
    let again = try await place.dlm("get", "-d", "f")
    #expect(again.status == 0 && again.errorText.contains("up to date: 2 files"), "\(again.errorText)")
    // Other lists have none.
    origin.route("/lines", .file(Array("/files/a\n".utf8), Self.link("/1")))
    #expect(try await place.dlm("get", "--list", origin.url("/lines"), "-d", "l").status == 0)
    #expect(try place.names(in: "l") == ["a"])
  }

  @Test func aCircleEnds() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/1", .file(Self.page("a"), Self.link("/2")))
    origin.route("/2", .file(Self.page("b"), Self.link("/1")))
    let place = try Workplace()
    let run = try await place.dlm("get", "--list", origin.url("/1"))
    #expect(
      run.status == 0 && run.errorText.contains("ends here, as its next page is an earlier one, \(origin.url("/1"))"))
    #expect(try place.names() == ["a", "b"] && origin.record.requests(to: "/1").count == 1)
  }

  /// A missing field is reported, with the page.
  @Test func whatCannotBeRead() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/1", .file(Self.page("a"), Self.link("/2")))
    origin.route("/2", .status(404))
    origin.route("/ftp", .file(Self.page("b"), Self.link("ftp://h/x")))
    let place = try Workplace()
    let run = try await place.dlm("get", "--list", origin.url("/1"))
    #expect(run.status == 66, "\(run.errorText)")
    #expect(
      run.errorText.contains("\(origin.url("/1")) cannot be read at \(origin.url("/2")): 404"))
    #expect(try place.names() == ["a"])
    let other = try await place.dlm("get", "--list", origin.url("/ftp"))
    #expect(other.status == 66 && other.errorText.contains("its next page is not downloaded, after 1: ftp://h/x"))
  }

  /// As with redirects: what is the user's is for the origin of the list alone.
  @Test func atAnotherOrigin() async throws {
    let (origin, other) = (try Self.origin(), try Self.origin())
    defer { origin.stop() }
    defer { other.stop() }
    origin.route("/1", .file(Self.page("a"), Self.link(other.url("/2"))))
    other.route("/2", .file(Self.page("b"), Self.link(origin.url("/3"))))
    origin.route("/3", .file(Self.page("c")))
    let place = try Workplace()
    let login = origin.url("/1").replacing("http://", with: "http://u:p@")
    let run = try await place.dlm("get", "--list", login, "-H", "X-Own: 1")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names() == ["a", "b", "c"])
    #expect(
      other.log.count == 2 && other.log.allSatisfy { $0.headers["x-own"] == nil && $0.headers["authorization"] == nil })
    let back = origin.record.requests(to: "/3").first
    #expect(back?.headers["x-own"] == "1" && back?.headers["authorization"] == nil)
  }

  /// Followed, each look reads all pages, as any of them may have changed.
  @Test(.timeLimit(.minutes(hangMinutes))) func areWatched() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let options = FileOptions(etag: "\"1\"", headers: ["Link: </2>; rel=\"next\""])
    origin.route("/1", .file(Self.page("a"), options))
    origin.route("/2", .file(Self.page("b")), .file(Self.page("b")), .file(Self.page("b", "c")))
    let place = try Workplace()
    let run = try place.start(["get", "--list", origin.url("/1"), "--watch", "--refresh-every", "1s"])
    try await place.wait(forSize: 1, of: "c")
    run.send(2)
    _ = try await run.waitForExit()
    #expect(try place.names() == ["a", "b", "c"])
  }
}
