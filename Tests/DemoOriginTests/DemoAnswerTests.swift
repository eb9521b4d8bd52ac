import Testing

@testable import DemoOrigin

@Suite("What the origin answers")
struct DemoAnswerTests {
  private static let file = DemoFile(path: "/images/a.png", size: 100, seed: 10)
  private static let tag = "\"a-64\""
  private static let date = "Sat, 01 Jun 2024 10:10:00 GMT"

  private func answer(_ request: DemoRequest) -> DemoAnswer {
    DemoAnswer(to: request, files: [Self.file.path: Self.file], now: 784_111_777)
  }

  struct Row: Sendable {
    let request: DemoRequest
    let status: Int
    let body: Range<Int>?
    var contentRange: String?
    var contentLength: String?
  }

  @Test(arguments: [
    Row(request: DemoRequest(path: file.path), status: 200, body: 0..<100),
    Row(
      request: DemoRequest(path: file.path, fields: ["range": "bytes=10-19"]), status: 206, body: 10..<20,
      contentRange: "bytes 10-19/100"),
    Row(
      request: DemoRequest(path: file.path, fields: ["range": "bytes=10-", "if-range": tag]), status: 206,
      body: 10..<100,
      contentRange: "bytes 10-99/100"),
    Row(
      request: DemoRequest(path: file.path, fields: ["range": "bytes=10-", "if-range": "\"old\""]), status: 200,
      body: 0..<100),
    Row(
      request: DemoRequest(path: file.path, fields: ["range": "bytes=100-"]), status: 416, body: nil,
      contentRange: "bytes */100"),
    // The condition comes before the range: the old version's length proves nothing.
    Row(
      request: DemoRequest(path: file.path, fields: ["range": "bytes=100-", "if-range": "\"old\""]), status: 200,
      body: 0..<100),
    Row(
      request: DemoRequest(path: file.path, fields: ["range": "bytes=0-1", "if-none-match": tag]), status: 304,
      body: nil,
      contentLength: "100"),
    Row(request: DemoRequest(path: file.path, fields: ["if-none-match": "\"old\""]), status: 200, body: 0..<100),
    Row(
      request: DemoRequest(path: file.path, fields: ["if-none-match": "\"x\", W/\"y,z\", W/\(tag)"]), status: 304,
      body: nil, contentLength: "100"),
    Row(
      request: DemoRequest(path: file.path, fields: ["if-none-match": "*"]), status: 304, body: nil,
      contentLength: "100"),
    Row(request: DemoRequest(path: file.path, fields: ["if-none-match": "a-64"]), status: 200, body: 0..<100),
    Row(
      request: DemoRequest(path: file.path, fields: ["if-modified-since": date]), status: 304, body: nil,
      contentLength: "100"),
    Row(
      request: DemoRequest(path: file.path, fields: ["if-modified-since": "Sat, 01 Jun 2024 10:11:00 GMT"]),
      status: 200, body: 0..<100),
    // A tag that does not match outweighs a date that does (RFC 9110 §13.2.2).
    Row(
      request: DemoRequest(path: file.path, fields: ["if-none-match": "\"x\"", "if-modified-since": date]),
      status: 200, body: 0..<100),
    Row(
      request: DemoRequest(path: file.path, fields: ["range": "bytes=1-1", "if-range": "W/\(tag)"]), status: 200,
      body: 0..<100),
    Row(request: DemoRequest(method: "HEAD", path: file.path), status: 200, body: nil, contentLength: "100"),
    // Range is defined for GET only (RFC 9110 §14.2).
    Row(
      request: DemoRequest(method: "HEAD", path: file.path, fields: ["range": "bytes=0-1"]), status: 200, body: nil,
      contentLength: "100"),
    Row(request: DemoRequest(method: "POST", path: file.path), status: 405, body: nil),
    Row(request: DemoRequest(path: "/images/b.png"), status: 404, body: nil),
  ])
  func answers(row: Row) {
    let answer = answer(row.request)
    #expect(answer.status == row.status)
    #expect(answer.body == row.body.map { DemoAnswer.Body(file: Self.file, range: $0) })
    #expect(answer.fields["Content-Range"] == row.contentRange)
    #expect(answer.fields["Content-Length"] == row.contentLength)
    #expect(answer.fields["Date"] == "Sun, 06 Nov 1994 08:49:37 GMT")
  }

  @Test(arguments: [
    DemoRequest(path: file.path), DemoRequest(path: file.path, fields: ["range": "bytes=1-2"]),
    DemoRequest(path: file.path, fields: ["if-none-match": tag]),
  ])
  func everyAnswerWithTheFileNamesItsVersion(request: DemoRequest) {
    let fields = answer(request).fields
    #expect(fields["ETag"] == Self.tag)
    #expect(fields["Last-Modified"] == Self.date)
    #expect(fields["Cache-Control"] == "no-cache")
    #expect(fields["Accept-Ranges"] == "bytes")
  }

  @Test func methodsAreNamedWhenOneIsRefused() {
    let fields = answer(DemoRequest(method: "PUT", path: Self.file.path)).fields
    #expect(fields["Allow"] == "GET, HEAD")
    // Its body is not read.
    #expect(fields["Connection"] == "close")
  }

  @Test func aClientThatWantsCloseIsToldClose() {
    #expect(answer(DemoRequest(path: Self.file.path)).fields["Connection"] == nil)
    #expect(answer(DemoRequest(path: Self.file.path, fields: ["connection": "close"])).fields["Connection"] == "close")
  }
}
