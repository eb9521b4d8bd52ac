import Foundation
import Testing

@testable import DownloadModel
@testable import TerminalProgress

@Suite("JSON lines for programs")
struct JSONLogTests {
  @Test(arguments: [
    (JSONValue.text("a\"b\\c\n\u{1}é/"), "\"a\\\"b\\\\c\\n\\u0001é/\""), (.null, "null"),
    // C1, bidi, a tag beyond the first plane: escaped, and the value survives.
    (.text("a\u{9B}1m\u{202E}b\u{E0041}"), "\"a\\u009b1m\\u202eb\\udb40\\udc41\""),
    (.object(["b": .null, "a": .literal("1")]), "{\"a\":1,\"b\":null}"),
  ])
  func values(_ value: JSONValue, _ text: String) { #expect(value.text == text) }

  @Test func valuesOfSwift() {
    let flags = [true, false]
    let whole = -1
    let numbers: [Double] = [1.23456, .nan]
    let absent: Int? = nil
    let fields: JSONFields = ["flags": flags, "whole": whole, "numbers": numbers, "absent": absent]
    #expect(JSONValue(fields).text == #"{"absent":null,"flags":[true,false],"numbers":[1.235,null],"whole":-1}"#)
  }

  /// Every line that the documentation shows is one that such a run writes, byte for byte.
  @Test func theExamplesAreWhatIsWritten() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/dlm/dlm.docc/Events.md").standardizedFileURL
    let examples = try String(contentsOf: path, encoding: .utf8).split(separator: "\n").filter {
      $0.hasPrefix("{")
    }
    let words = ProgressMessages(
      failure: { $0.code == .reset ? "the connection broke" : "404 Not Found" },
      rejection: {
        $0.line == nil
          ? "urls.txt cannot be read: Permission denied; check its permissions"
          : "urls.txt:5: \"x\" is not a URL: it does not start with http:// or https://; fix or remove it"
      },
      timestamp: { "2026-01-02T03:04:05Z" })
    var log = JSONLog(words: words)
    let requests = try (0..<3).map {
      DownloadRequest(id: $0, address: try Address("https://host.example/\($0)"))
    }
    let meters = [TransferMeter(), TransferMeter()]
    meters[0].begin(at: 0, total: 10)
    meters[0].add(4)
    var tally = ProgressTally()
    (tally.listed, tally.listIsComplete) = (4, true)
    let active = zip(requests, meters).map { ProgressSample.ActiveDownload(id: $0.id, address: $0.address, meter: $1) }
    var bytes = log.draw(
      ProgressSample(tally: tally, received: 4, active: active, events: requests.map { .began($0) }),
      at: .seconds(1))
    (tally.fetched, tally.failed, tally.failedForGood, tally.rejected, tally.finishedBytes) = (1, 2, 2, 1, 10)
    bytes += log.end(
      ProgressSample(
        tally: tally, received: 10, active: [],
        events: [
          .retry(
            requests[1], NextAttempt(attempt: 2, retry: 1, of: 5, delay: .seconds(1.5)),
            error: DownloadError(.reset, isTransient: true)),
          .waitsForAnotherProcess(requests[2], 4711), .restarted(requests[2], .otherVersion),
          .ended(
            requests[0],
            .success(
              DownloadOutcome(kind: .fetched, path: "out/0", size: 10, transferred: 10, proof: .length))),
          .ended(requests[1], .failure(DownloadError(.status, cause: .http(status: 404)))),
          .rejected(Rejection(list: "urls.txt", line: 5, text: "x", reason: .malformed(.noScheme))),
          .watch(
            .changed(
              WatchNews.Change(list: "urls.txt", started: 1, removed: 1, restarted: 0, mended: 0, files: 3))),
          .watch(.missing(list: "urls.txt", files: 3)),
          .watch(
            .unreadable(
              Rejection(list: "urls.txt", line: nil, text: "", reason: .unreadable(errno: 13)), files: 3)),
          .watch(.asking(files: 3)),
          .watch(.waiting(WatchStatus(lists: ["urls.txt"], files: 3, nextLook: .seconds(598.5)))),
          .watch(.removed(requests[2], .waiting)),
        ]), at: .seconds(2))
    let written = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    for example in examples {
      #expect(written.contains(example), "\(example)\nis none of\n\(written.joined(separator: "\n"))")
    }
    func types(_ lines: [Substring]) -> Set<Substring> {
      Set(lines.compactMap { $0.split(separator: "\"type\":\"").last?.prefix { $0 != "\"" } })
    }
    #expect(types(examples) == types(written) && examples.count == 16)
  }

  /// Also where a server sends more than it said, and where no length is known.
  @Test(arguments: [(4, 10), (10, 10), (12, 10), (7, nil), (0, 0)] as [(Int, Int64?)])
  func receivedIsNeverAboveSize(position: Int, total: Int64?) throws {
    var log = JSONLog(words: Scene.words)
    let meter = TransferMeter()
    meter.begin(at: 0, total: total)
    meter.add(position)
    var tally = ProgressTally()
    (tally.listed, tally.listIsComplete, tally.fetched, tally.finishedBytes) = (2, true, 1, 100)
    let active = [ProgressSample.ActiveDownload(id: 1, address: try Scene.address("https://h/x"), meter: meter)]
    let bytes = log.draw(
      ProgressSample(tally: tally, received: 500, active: active, events: []), at: .seconds(1))
    let line = try #require(String(decoding: bytes, as: UTF8.self).split(separator: "\n").last)
    let fields = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    let (received, size) = (fields["received"] as? Int ?? -1, fields["size"] as? Int ?? -2)
    #expect(received == 100 + position && received <= size, "\(line)")
    #expect(
      fields["transferred"] as? Int == 500 && fields["total_known"] as? Bool == (total != nil), "\(line)")
  }

  /// Two lines of one URL once swapped theirs.
  @Test func eachLineHasTheIdOfItsFile() throws {
    var log = JSONLog(words: Scene.words)
    let requests = try (0..<2).map { DownloadRequest(id: $0, address: try Address("https://h/x")) }
    let ends = [1, 0].map { id in
      ProgressEvent.ended(requests[id], .success(DownloadOutcome(kind: .fetched, path: "\(id)", size: 1)))
    }
    let sample = ProgressSample(
      tally: ProgressTally(), received: 2, active: [], events: requests.map { .began($0) } + ends)
    let lines = try String(decoding: log.draw(sample, at: .seconds(1)), as: UTF8.self).split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    let done = lines.filter { $0["type"] as? String == "done" }
    #expect(done.map { "\($0["id"] ?? "") \($0["path"] ?? "")" } == ["1 1", "0 0"])
    let progress = lines.first { $0["type"] as? String == "progress" }
    #expect(progress?.keys.contains("rate") == true && progress?.keys.contains("eta") == true)
  }

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
    var bytes = log.draw(reader.take(), at: .seconds(1))
    feed.retry(
      requests[1], NextAttempt(attempt: 2, retry: 1, of: 5, delay: .seconds(1.5)),
      error: DownloadError(.reset, isTransient: true))
    feed.end(
      requests[0],
      .success(DownloadOutcome(kind: .fetched, path: "a/0", size: 10, transferred: 10, proof: .length)))
    feed.end(requests[1], .failure(DownloadError(.status, cause: .http(status: 404))))
    bytes += log.end(reader.take(), at: .seconds(2))

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
