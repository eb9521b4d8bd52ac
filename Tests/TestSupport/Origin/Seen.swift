/// A request as it reached `FaultyOrigin`.
public struct Seen: Sendable, Equatable {
  public let method: String
  /// As sent, with its query.
  public let path: String
  /// Lower-cased names; equal names joined with ", ".
  public let headers: [String: String]
  /// From 1, in the order in which connections were opened.
  public let connection: Int
}
