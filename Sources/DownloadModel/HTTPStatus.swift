/// What a status code says to one who asks whether to ask again (RFC 9110 §15, http.md 11).
public enum HTTPStatus {
  /// Whether it says "not this time": also every other 5xx but those that say "never".
  public static func mayPass(_ status: Int) -> Bool {
    switch status {
    case 408, 425, 429: true
    case 501, 505: false
    default: status >= 500
    }
  }
}
