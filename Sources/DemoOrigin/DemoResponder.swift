import FlyingFox
import FlyingSocks
import Foundation

/// Between the server library and the rule that decides: waits the latency, translates, paces the body.
struct DemoResponder: HTTPHandler {
  let files: [String: DemoFile]
  let latency: Duration
  let schedule: PacingSchedule

  func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
    do {
      if latency > .zero { try await Task.sleep(for: latency, tolerance: .zero) }
    } catch {
      // Cancelled: the origin stops. The library would answer an error with 500, which is no truth.
      let headers: HTTPHeaders = [.connection: "close"]
      return HTTPResponse(statusCode: .serviceUnavailable, headers: headers)
    }
    let now = Int64(Date.now.timeIntervalSince1970)
    return response(DemoAnswer(to: DemoRequest(request), files: files, now: now))
  }

  private func response(_ answer: DemoAnswer) -> HTTPResponse {
    var headers = HTTPHeaders()
    for (name, value) in answer.fields { headers[HTTPHeader(name)] = value }
    // With a count the library sends Content-Length; without one it would send chunks.
    let body = answer.body.map { body in
      HTTPBodySequence(
        from: PacedBody(content: body.content, range: body.range, schedule: schedule),
        count: body.range.count, suggestedBufferSize: schedule.chunkSize)
    }
    return HTTPResponse(
      statusCode: Self.statusCode(answer.status), headers: headers, body: body ?? HTTPBodySequence())
  }

  private static func statusCode(_ status: Int) -> HTTPStatusCode {
    switch status {
    case 200: .ok
    case 206: .partialContent
    case 304: .notModified
    case 404: .notFound
    case 405: .methodNotAllowed
    case 416: .rangeNotSatisfiable
    default: HTTPStatusCode(status, phrase: "")
    }
  }
}

extension DemoRequest {
  init(_ request: HTTPRequest) {
    let connection = request.headers[.connection]?.lowercased() ?? ""
    self.init(
      method: request.method.rawValue, path: request.path, range: request.headers[.range],
      ifRange: request.headers[HTTPHeader("If-Range")], ifNoneMatch: request.headers[.ifNoneMatch],
      ifModifiedSince: request.headers[.ifModifiedSince],
      wantsClose: connection.split(separator: ",").contains {
        $0.trimmingCharacters(in: .whitespaces) == "close"
      })
  }
}
