/// What the origin reads of a request.
struct DemoRequest: Sendable, Equatable {
  var method = "GET"
  /// Percent-encoded, without query.
  var path: String
  var range: String?
  var ifRange: String?
  var ifNoneMatch: String?
  var ifModifiedSince: String?
  /// Whether the client asked for the connection to end with the answer (RFC 9112 §9.6).
  var wantsClose = false
}
