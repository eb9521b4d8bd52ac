import DownloadModel
import Testing

@testable import CurlTransport

@Suite("Header lines become the head of the final response, in bounded memory (http.md 26)")
struct HeadAssemblerTests {
  private func steps(_ lines: [String]) -> (HeadAssembler, [HeadAssembler.Step]) {
    var assembler = HeadAssembler()
    let steps = lines.map { line in Array(line.utf8).withUnsafeBytes { assembler.take($0) } }
    return (assembler, steps)
  }

  @Test func theFinalHeadOnly() {
    let (assembler, steps) = steps([
      "HTTP/1.1 103 Early Hints\r\n", "Link: </a>\r\n", "\r\n",
      "HTTP/1.1 302 Found\r\n", "Location: /b\r\n", "ETag: \"redirect\"\r\n", "\r\n",
      "HTTP/2 200 \r\n", "etag: \"final\"\r\n", "\r\n",
      "Trailer: late\r\n", "\r\n",
    ])
    #expect(steps.filter { $0 == .final }.count == 1)
    #expect(steps[6] == .redirect)
    #expect(steps[9] == .final)
    #expect(assembler.head.status == 200)
    #expect(assembler.head["etag"] == "\"final\"")
    #expect(assembler.head["location"] == nil)
    #expect(assembler.head["trailer"] == nil)
  }

  @Test func aRedirectWithoutLocationIsFinal() {
    let (_, steps) = steps(["HTTP/1.1 302 Found\r\n", "\r\n"])
    #expect(steps.last == .final)
  }

  @Test func floodIsNoticed() {
    let line = "X-Filler: " + String(repeating: "a", count: 1000) + "\r\n"
    let (_, steps) = steps(["HTTP/1.1 200 OK\r\n"] + Array(repeating: line, count: 300))
    #expect(steps.contains(.flood))
    #expect(
      steps.firstIndex(of: .flood).map { $0 * line.utf8.count <= HeadAssembler.limit + line.utf8.count }
        == true)
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n", 200), ("HTTP/2 404 \r\n", 404), ("HTTP/1.1\r\n", 0), ("HTTP/1.1 xx\r\n", 0),
  ])
  func status(_ line: String, _ status: Int) {
    let (assembler, _) = steps([line, "\r\n"])
    #expect(assembler.head.status == status)
  }
}
