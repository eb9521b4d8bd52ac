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
    #expect(run.errorText.contains("text/html came, image/* was wanted"), "\(run.errorText)")
    #expect(run.errorText.contains("leave out --expect"))
    for path in ["/liar.png", "/octets.png"] { #expect(origin.record.requests(to: path).count == 1) }
    // It is remembered; without it they come.
    #expect(try await place.dlm("get").status == 1)
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    #expect(try place.names().contains("liar.png"))
    let bad = try await place.dlm("get", "urls.txt", "--expect", "png")
    #expect(bad.status == 64 && bad.errorText.contains("--expect"), "\(bad.errorText)")
  }
}
