import TestSupport
import Testing

@Suite("Hosts that are not written in ASCII, and names as frameworks send them (HTTP rule 36)")
struct HostNameTests {
  /// A proxy is asked by name, so that it shows what goes over the wire. In cron the locale is "C": libcurl
  /// alone then converts nothing.
  @Test(arguments: ["C", "C.UTF-8", "de_DE.ISO-8859-1"])
  func bothSpellingsAreOneAddress(locale: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2, 3]))
    origin.route("/moved", .redirect(302, to: "http://BÜCHER.example/a"))
    let place = try Workplace(["LC_ALL": locale, "http_proxy": origin.url("")])
    let list = try place.list(["http://bücher.example/a", "http://xn--bcher-kva.example/a"])
    let run = try await place.dlm("get", list, "-v")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(origin.log.map(\.path) == ["http://xn--bcher-kva.example/a"])
    #expect(origin.log.first?.headers["host"] == "xn--bcher-kva.example")
    #expect(try place.names() == ["a", "urls.txt"])
    #expect(try await place.dlm("get", "http://B%C3%BCcher.example/a").errorText.contains("up to date: 1 file"))
    let moved = try await place.dlm("get", "http://bücher.example/moved", "-o", "b")
    #expect(moved.status == 0, "\(moved.errorText)")
    #expect(origin.log.allSatisfy { $0.path.hasPrefix("http://xn--bcher-kva.example/") })
  }

  @Test func whatCannotBeConvertedIsSaid() async throws {
    let place = try Workplace(["LC_ALL": "C"])
    let list = try place.list(["http://\(String(repeating: "ü", count: 70)).example/x"])
    let run = try await place.dlm("get", list)
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains("urls.txt:1"), "\(run.errorText)")
    #expect(run.errorText.contains("cannot be written in ASCII"), "\(run.errorText)")
  }

  private static let latin1: [UInt8] =
    Array("attachment; filename=R".utf8) + [0xE9] + Array("sum".utf8) + [0xE9] + Array(".pdf".utf8)

  private static let fields: [(field: [UInt8], name: String)] = [
    (Array("attachment; filename=my report.pdf".utf8), "my report.pdf"),
    (Array("attachment; filename=Übersicht 2.pdf; size=3".utf8), "Übersicht 2.pdf"),
    (Array("attachment; filename=\"Übersicht.pdf\"".utf8), "Übersicht.pdf"),
    (latin1, "Résumé.pdf"), (Array("attachment; filename=../.bash rc".utf8), "_bash rc"),
  ]

  @Test(arguments: fields.indices)
  func names(index: Int) async throws {
    let (field, name) = Self.fields[index]
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nETag: \"1\"\r\nContent-Disposition: ".utf8)
    origin.route("/download", .raw(head + field + Array("\r\n\r\nabc".utf8)))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/download"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names() == [name])
  }
}
