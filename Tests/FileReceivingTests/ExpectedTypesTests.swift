import DownloadModel
import Testing

@testable import FileReceiving

@Suite("--expect: which answers have another type")
struct ExpectedTypesTests {
  @Test(
    arguments: [
      ("image/*", "image/png", true), ("image/*,application/pdf", "application/pdf; charset=x", true),
      ("IMAGE/JPG", "image/jpeg", true), ("image/png", "Image/PNG ;q=1", true), ("image/*", nil, true),
      ("image/*", "application/octet-stream", true), ("image/*", "binary/octet-stream", true),
      ("image/*", "text/html", false), ("image/png", "image/jpeg", false), ("image/*", "imagex/png", false),
      ("*/*", "text/html", false),
    ] as [(String, String?, Bool)])
  func byHead(types: String, field: String?, isAllowed: Bool) throws {
    let line = Array((field.map { "Content-Type: \($0)\n" } ?? "X: y\n").utf8)
    let (expected, head) = (
      try #require(ExpectedTypes(argument: types)), ResponseHead(status: 200, block: line, starts: [0])
    )
    let failure: DownloadError?
    do throws(DownloadError) {
      try expected.check(head)
      failure = nil
    } catch { failure = error }
    #expect((failure == nil) == isAllowed && failure?.isTransient != true)
  }

  @Test(
    arguments: [
      ("image/*", "\u{89}PNG\r\n", nil), ("image/*", "\u{FF}\u{D8}\u{FF}\u{E0}", nil), ("image/*", "GIF89a", nil),
      ("image/*", "RIFF....WEBPVP8", nil), ("image/*", "II*\0", nil), ("image/*", "<svg", nil),
      ("image/*", "<!DOCTYPE html><p>", "text/html"), ("image/*", "\u{EF}\u{BB}\u{BF} \n<HTML>", "text/html"),
      ("image/*", "%PDF-1.7", "application/pdf"), ("image/*", "PK\u{3}\u{4}", "application/zip"),
      ("image/*", "", "an empty file"), ("application/pdf", "%PDF-1.7", nil),
      ("application/pdf", "<p>", "something else"),
      ("application/pdf", "PK\u{3}\u{4}", "application/zip"), ("application/epub+zip", "PK\u{3}\u{4}", nil),
      ("application/zip,application/gzip", "\u{1F}\u{8B}\u{8}", nil), ("application/x-tar", "\u{1F}\u{8B}\u{8}", nil),
      ("image/png", "\u{FF}\u{D8}\u{FF}", "image/jpeg"), ("text/html", "<p>", nil), ("text/*", "<html>", nil),
    ] as [(String, String, String?)])
  func byFirstBytes(types: String, start: String, other: String?) throws {
    let bytes = start.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    #expect(try #require(ExpectedTypes(argument: types)).other(bytes) == other)
  }

  @Test(arguments: ["", "image", "image/", "/png", "image/png,", "a/b/c"]) func noTypes(text: String) {
    #expect(ExpectedTypes(argument: text) == nil)
  }
}
