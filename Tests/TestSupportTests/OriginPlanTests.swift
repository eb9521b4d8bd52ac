import Foundation
import Testing

@testable import TestSupport

@Suite("The steps of an answer to a file of 10 bytes")
struct OriginPlanTests {
  struct Case: CustomTestStringConvertible {
    var name: String
    var options: FileOptions
    /// Without the head.
    var steps: [OriginStep]
    var testDescription: String { name }
  }

  private static func text(_ text: String) -> OriginStep { .send(Array(text.utf8)) }

  static let cases = [
    Case(name: "whole", options: .init(), steps: [.body(0..<9), .settle, .body(9..<10)]),
    Case(
      name: "cut", options: .init(ending: .close(after: 4)), steps: [.body(0..<4), .settle, .close]),
    Case(name: "cut at once", options: .init(ending: .close(after: 0)), steps: [.settle, .close]),
    Case(
      name: "reset", options: .init(ending: .reset(after: 4)), steps: [.body(0..<4), .settle, .reset]),
    Case(
      name: "stall", options: .init(ending: .stall(after: 4)),
      steps: [.body(0..<4), .stall(nil), .body(4..<9), .settle, .body(9..<10)]),
    Case(
      name: "trickle", options: .init(ending: .trickle(piece: 5, every: .seconds(1))),
      steps: [
        .pause(.seconds(1)), .body(0..<5), .pause(.seconds(1)), .body(5..<9), .settle, .body(9..<10),
      ]),
    Case(
      name: "until close", options: .init(framing: .closeDelimited),
      steps: [.body(0..<9), .settle, .body(9..<10), .close]),
    Case(
      name: "declared too short", options: .init(framing: .declared("4")),
      steps: [.body(0..<9), .settle, .body(9..<10), .close]),
    Case(
      name: "chunked", options: .init(framing: .chunked(size: 6)),
      steps: [
        text("6\r\n"), .body(0..<6), text("\r\n"), text("4\r\n"), .body(6..<10), text("\r\n"), .settle,
        text("0\r\n\r\n"),
      ]),
    Case(
      name: "last chunk missing", options: .init(framing: .chunked(size: 6), ending: .close(after: 10)),
      steps: [
        text("6\r\n"), .body(0..<6), text("\r\n"), text("4\r\n"), .body(6..<10), .settle, .close,
      ]),
  ]

  @Test(arguments: cases)
  func steps(_ row: Case) {
    let request = OriginRequest(method: "GET", target: "/")
    let answer = OriginAnswer.file([UInt8](repeating: 7, count: 10), row.options)
    let plan = OriginPlan(answer, to: request, date: "now")
    #expect(Array(plan.steps.dropFirst()) == row.steps)
  }

  @Test func `A request is read as its words and lines`() throws {
    let head = "GET http://h:1/a?b HTTP/1.1\r\nHost: h\r\nX-A:  one \r\nx-a: two\r\nConnection: Close"
    let request = try #require(OriginRequest(head: head.utf8))
    #expect(request.method == "GET")
    #expect(request.routes == ["http://h:1/a?b", "/a?b", "/a"])
    #expect(request.headers == ["host": "h", "x-a": "one, two", "connection": "Close"])
    #expect(!request.keepsAlive)
  }

  @Test func `Date is an IMF-fixdate`() {
    #expect(
      OriginConnection.date(.init(timeIntervalSince1970: 784_111_777)) == "Sun, 06 Nov 1994 08:49:37 GMT")
  }
}
