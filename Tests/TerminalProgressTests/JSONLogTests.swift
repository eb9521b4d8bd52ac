import DownloadModel
import Foundation
import Testing

@testable import TerminalProgress

@Suite("JSON lines for programs")
struct JSONLogTests {
  @Test(arguments: [
    (JSONValue.text("a\"b\\c\n\u{1}é/"), "\"a\\\"b\\\\c\\n\\u0001é/\""), (.null, "null"),
    // C1, bidi, a tag beyond the first plane: escaped, and the value survives.
    (.text("a\u{9B}1m\u{202E}b\u{E0041}"), "\"a\\u009b1m\\u202eb\\udb40\\udc41\""),
    (.decimal(.nan), "null"),
    (.decimal(1.23456), "1.235"), (.list([.flag(true), .number(-1)]), "[true,-1]"),
    (.object(["b": .null, "a": .number(1)]), "{\"a\":1,\"b\":null}"),
  ])
  func values(_ value: JSONValue, _ text: String) { #expect(value.text == text) }

  @Test func everyLineIsAnObjectAndTheSummaryIsTheLast() throws {
    let words = ProgressMessages(
      failure: { "failed: \($0.code.rawValue)\n\"" }, rejection: { "\($0.text)" },
      timestamp: { "2026-01-02T03:04:05Z" })
    var log = JSONLog(words: words)
    let feed = ProgressFeed()
    let reader = feed.reader(of: .events)
    let requests = try (0..<3).map { DownloadRequest(id: $0, address: try Address("https://u:p@host/\($0)")) }
    feed.listed(3, complete: true)
    for request in requests { feed.start(request).begin(at: 0, total: 10) }
    let size = TerminalSize(columns: 80, rows: 24)
    var bytes = log.draw(reader.take(), at: .seconds(1), size: size)
    feed.retry(
      requests[1], NextAttempt(attempt: 2, retry: 1, of: 5, delay: .seconds(1.5)),
      error: DownloadError(.reset, isTransient: true))
    feed.end(
      requests[0],
      .success(DownloadOutcome(kind: .fetched, path: "a/0", size: 10, transferred: 10, proof: .length)))
    feed.end(requests[1], .failure(DownloadError(.status, cause: .http(status: 404))))
    bytes += log.end(reader.take(), at: .seconds(2), size: size)

    let lines = try String(decoding: bytes, as: UTF8.self).split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(
      lines.map { $0["type"] as? String } == [
        "plan", "start", "start", "start", "progress", "retry", "done", "error", "summary",
      ])
    for line in lines {
      #expect(line["v"] as? Int == 1 && line["t"] as? String == "2026-01-02T03:04:05Z")
      #expect(line.keys.contains("id") && line.keys.contains("url"))
    }
    #expect(lines[5]["attempt"] as? Int == 2 && lines[5]["delay"] as? Double == 1.5)
    #expect((lines[5]["message"] as? String)?.hasSuffix("; again in 1.5 s, 1 of 5") == true)
    #expect(lines[5]["retry"] as? Int == 1 && lines[5]["retries"] as? Int == 5)
    let done = lines[6]
    #expect(done["id"] as? Int == 0 && done["url"] as? String == "https://host/0")
    #expect(done["proof"] as? String == "length" && done["size"] as? Int == 10)
    #expect(lines[7]["id"] as? Int == 1 && lines[7]["code"] as? String == "status")
    #expect(lines[8]["done"] as? Int == 1 && lines[8]["failed"] as? Int == 1)
    #expect(!String(decoding: bytes, as: UTF8.self).contains("u:p"))
  }
}
