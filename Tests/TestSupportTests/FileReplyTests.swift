import Testing

@testable import TestSupport

@Suite("What a file of 100 bytes answers")
struct FileReplyTests {
  struct Case: CustomTestStringConvertible {
    var headers: [String: String]
    var options = FileOptions()
    var status: Int
    var body: Range<Int>?
    var contentRange: String?
    var testDescription: String { "\(headers), \(options.ranges): \(status)" }
  }

  static let date = "Tue, 01 Jul 2025 10:00:00 GMT"

  static let rangeCases = [
    Case(headers: [:], status: 200, body: 0..<100),
    Case(headers: ["range": "bytes=40-"], status: 206, body: 40..<100, contentRange: "bytes 40-99/100"),
    Case(headers: ["range": "bytes=40-49"], status: 206, body: 40..<50, contentRange: "bytes 40-49/100"),
    Case(headers: ["range": "bytes=40-400"], status: 206, body: 40..<100, contentRange: "bytes 40-99/100"),
    Case(headers: ["range": "bytes=-10"], status: 206, body: 90..<100, contentRange: "bytes 90-99/100"),
    Case(headers: ["range": "bytes=100-"], status: 416, body: 0..<0, contentRange: "bytes */100"),
    Case(headers: ["range": "bytes=5-4"], status: 200, body: 0..<100),
    Case(headers: ["range": "bytes=0-1,5-6"], status: 200, body: 0..<100),
    Case(headers: ["range": "lines=1-2"], status: 200, body: 0..<100),
    Case(headers: ["range": "bytes=40-"], options: .init(ranges: .ignored), status: 200, body: 0..<100),
    Case(
      headers: ["range": "bytes=40-"], options: .init(ranges: .shifted(by: -10)), status: 206,
      body: 30..<100, contentRange: "bytes 30-99/100"),
    Case(
      headers: ["range": "bytes=40-"], options: .init(ranges: .completeLength("7")), status: 206,
      body: 40..<100, contentRange: "bytes 40-99/7"),
    Case(headers: ["range": "bytes=40-"], options: .init(ranges: .unlabelled), status: 206, body: 40..<100),
    Case(
      headers: ["range": "bytes=40-", "if-range": "\"v1\""], options: .init(ranges: .dislikesIfRange),
      status: 200, body: 0..<100),
    Case(
      headers: ["range": "bytes=40-"], options: .init(ranges: .dislikesIfRange), status: 206,
      body: 40..<100, contentRange: "bytes 40-99/100"),
  ]

  @Test(arguments: rangeCases)
  func ranges(_ row: Case) { check(row) }

  static let conditionCases = [
    Case(
      headers: ["range": "bytes=9-", "if-range": "\"v1\""], status: 206, body: 9..<100,
      contentRange: "bytes 9-99/100"),
    Case(headers: ["range": "bytes=9-", "if-range": "\"v0\""], status: 200, body: 0..<100),
    Case(
      headers: ["range": "bytes=9-", "if-range": "W/\"v1\""], options: .init(etag: "W/\"v1\""),
      status: 200, body: 0..<100),
    Case(
      headers: ["range": "bytes=9-", "if-range": date], status: 206, body: 9..<100,
      contentRange: "bytes 9-99/100"),
    Case(headers: ["if-none-match": "\"v1\""], status: 304),
    Case(headers: ["if-none-match": "\"v0\", W/\"v1\""], status: 304),
    Case(headers: ["if-none-match": "\"v0\"", "if-modified-since": date], status: 200, body: 0..<100),
    Case(headers: ["if-modified-since": date], status: 304),
    Case(
      headers: ["if-none-match": "\"v1\""], options: .init(revalidates: false), status: 200, body: 0..<100),
  ]

  @Test(arguments: conditionCases)
  func conditions(_ row: Case) { check(row) }

  @Test func `A changed tag replaces the tag, whatever If-Range says`() {
    let request = OriginRequest(
      method: "GET", target: "/", headers: ["range": "bytes=40-", "if-range": "\"v1\""])
    let reply = FileReply(to: request, length: 100, options: .init(ranges: .changedETag("\"v2\"")))
    #expect(reply.status == 206)
    #expect(reply.headers.filter { $0.hasPrefix("ETag") } == ["ETag: \"v2\""])
  }

  private func check(_ row: Case) {
    let request = OriginRequest(method: "GET", target: "/", headers: row.headers)
    let reply = FileReply(to: request, length: 100, options: row.options)
    #expect(reply.status == row.status)
    #expect(reply.body == row.body)
    let line = row.contentRange.map { ["Content-Range: \($0)"] } ?? []
    #expect(reply.headers.filter { $0.hasPrefix("Content-Range") } == line)
  }
}
