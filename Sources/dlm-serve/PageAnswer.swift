import DownloadModel

struct PageAnswer: Sendable {
  typealias Write = @Sendable ([UInt8]) async throws -> Void

  enum Body: Sendable {
    case whole([UInt8])
    /// Writes lines until it returns, or writing fails because the client has gone.
    case lines(@Sendable (_ write: Write) async throws -> Void)
  }

  var status: UInt = 200
  var headers: [String: String] = [
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
  ]
  var body: Body

  init(_ bytes: [UInt8], type: String) {
    body = .whole(bytes)
    headers["Content-Type"] = type
  }

  init(_ fields: JSONFields) { self.init(Array(JSONValue(fields).text.utf8), type: "application/json") }

  init(lines: @escaping @Sendable (_ write: Write) async throws -> Void) {
    body = .lines(lines)
    headers["Content-Type"] = "application/x-ndjson"
  }

  init(error: String, status: UInt) {
    self.init(["error": error])
    self.status = status
  }

  init(preflightFor origin: String) {
    self.init([], type: "text/plain")
    headers["Access-Control-Allow-Origin"] = origin
    headers["Access-Control-Allow-Methods"] = "POST"
    headers["Access-Control-Allow-Headers"] = "Content-Type"
  }
}
