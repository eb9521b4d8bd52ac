import CCurl
import DownloadModel
import Glibc
import TestSupport
import Testing

@testable import CurlTransport

@Suite("Header lines become the head of the final response, in bounded memory (HTTP rule 26)")
struct HeadAssemblerTests {
  private final class Heads {
    var assembler = HeadAssembler()
    var steps: [HeadAssembler.Step] = []
  }

  /// Passes lines as libcurl does, until one is not accepted.
  private func steps(_ lines: [String]) -> (assembler: HeadAssembler, steps: [HeadAssembler.Step], accepted: Int) {
    let heads = Heads()
    var head = dlm_head()
    defer { free(head.bytes) }
    head.limit = HeadAssembler.limit
    head.context = Unmanaged.passUnretained(heads).toOpaque()
    head.take = { bytes, size, count, context in
      guard let context else { return 0 }
      let heads = Unmanaged<Heads>.fromOpaque(context).takeUnretainedValue()
      let step = heads.assembler.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
      heads.steps.append(step)
      return step == .flood ? 0 : count
    }
    let accepted = lines.firstIndex { line in
      var bytes = Array(line.utf8CString)
      return dlm_head_gather(&bytes, 1, line.utf8.count, &head) != line.utf8.count
    }
    return (heads.assembler, heads.steps, accepted ?? lines.count)
  }

  @Test func theFinalHeadOnly() {
    let (assembler, steps, _) = steps([
      "HTTP/1.1 103 Early Hints\r\n", "Link: </a>\r\n", "\r\n",
      "HTTP/1.1 302 Found\r\n", "Location: /b\r\n", "ETag: \"redirect\"\r\n", "\r\n",
      "HTTP/2 200 \r\n", "etag: \"final\"\r\n", "\r\n",
      "Trailer: late\r\n", "\r\n",
    ])
    #expect(steps == [.more, .redirect, .final, .more])
    #expect(assembler.head.status == 200)
    #expect(assembler.head["etag"] == "\"final\"")
    #expect(assembler.head["location"] == nil)
    #expect(assembler.head["trailer"] == nil)
  }

  /// RFC 9112 §5.2: a user agent replaces each fold with blanks.
  @Test func foldedFields() {
    let (assembler, _, _) = steps([
      "HTTP/1.1 200 OK\r\n", " before: any\r\n", "Content-Disposition: attachment;\r\n", "\tfilename=\"a b\r\n",
      "  c.zip\"\r\n", "ETag: \"x\"\r\n", "\r\n",
    ])
    #expect(assembler.head["content-disposition"] == "attachment;\tfilename=\"a b  c.zip\"")
    #expect(assembler.head["etag"] == "\"x\"")
    #expect(assembler.head["before"] == nil)
  }

  @Test func aRedirectWithoutLocationIsFinal() {
    let (_, steps, _) = steps(["HTTP/1.1 302 Found\r\n", "\r\n"])
    #expect(steps.last == .final)
  }

  @Test func floodIsNoticed() {
    let line = "X-Filler: " + String(repeating: "a", count: 1000) + "\r\n"
    let (_, steps, accepted) = steps(["HTTP/1.1 200 OK\r\n"] + Array(repeating: line, count: 300))
    #expect(steps == [.flood])
    #expect(accepted * line.utf8.count <= HeadAssembler.limit + line.utf8.count)
  }

  /// Each answer is short enough, but all before the final one together are not.
  @Test func manyInterimAnswersAreAFlood() {
    let interim = ["HTTP/1.1 103 Early Hints\r\n", "Link: <" + String(repeating: "a", count: 1000) + ">\r\n", "\r\n"]
    let (_, steps, _) = steps(Array(repeating: interim, count: 300).flatMap(\.self))
    #expect(steps.last == .flood)
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n", 200), ("HTTP/2 404 \r\n", 404), ("HTTP/1.1\r\n", 0), ("HTTP/1.1 xx\r\n", 0),
  ])
  func status(_ line: String, _ status: Int) {
    let (assembler, _, _) = steps([line, "\r\n"])
    #expect(assembler.head.status == status)
  }
}

@Suite("How the end of a body is known (RFC 9112 §6.3)")
struct AnswerFramingTests {
  @Test(
    arguments: [
      (200, "Content-Length: 5\r\n", 5, .length), (200, "", nil, .nothing),
      (200, "Transfer-Encoding: chunked\r\n", nil, .framing),
      (200, "Transfer-Encoding: gzip, Chunked\r\nContent-Length: 9\r\n", nil, .framing),
      (200, "Transfer-Encoding: gzip\r\n", nil, .nothing),
      // No body, whatever the head says of one.
      (304, "Content-Length: 5\r\n", 0, .framing), (204, "", 0, .framing),
    ] as [(Int, String, Int64?, Proof)])
  func framing(status: Int, lines: String, length: Int64?, proof: Proof) throws {
    let framing = try AnswerFraming(ResponseHead(status: status, block: Array(lines.utf8)))
    #expect(framing.status == status && framing.length == length)
    #expect(framing.proof == proof)
  }

  @Test(arguments: ["abc", "5\r\nContent-Length: 6", "-1", "1125899906842625", "999999999999999999"])
  func uselessLengths(text: String) {
    let error = #expect(throws: DownloadError.self) {
      _ = try AnswerFraming(ResponseHead(status: 200, block: Array("Content-Length: \(text)\r\n".utf8)))
    }
    #expect(error?.code == .badResponse)
    // The message names what the server claims.
    let claim = text.prefix { $0 != "\r\n" }
    #expect(error?.reason.contains(claim) == true, "\(error?.reason ?? "no error")")
  }

  @Test func tooLittleAndTooMuch() throws {
    let framing = try AnswerFraming(ResponseHead(status: 200, block: Array("Content-Length: 5\r\n".utf8)))
    try framing.check(received: 5)
    #expect(#expect(throws: DownloadError.self) { try framing.check(received: 4) }?.code == .shortBody)
    #expect(#expect(throws: DownloadError.self) { try framing.check(received: 6) }?.code == .longBody)
  }
}
