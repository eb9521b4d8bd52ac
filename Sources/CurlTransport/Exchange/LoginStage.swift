import CCurl

/// How a request sends its login (RFC 9110 §11), and how it reacts to a 401 (HTTP rule 41).
///
/// Over TLS, Basic is sent at once; over plain http, which others can read, nothing is sent before a 401 requires it. A
/// server that requires Digest or Negotiate says so with a 401, and gets that login once. libcurl treats a second
/// challenge on one easy handle as a refusal, or ignores it; so a challenge is requested with a handle that has none.
enum LoginStage: Equatable {
  case basic
  /// No login, so that the server sends a challenge.
  case probe
  /// Digest (RFC 7616), with the challenge that the easy handle keeps.
  /// - isFresh: this transfer requested the challenge, so a refusal means that the login is wrong.
  case digest(isFresh: Bool)
  /// SPNEGO (RFC 4559), with the user's ticket, if there is one.
  /// - isLast: the server has refused the login by Basic.
  case negotiate(isLast: Bool)
  /// Basic, after a challenge that offers nothing better.
  case plainBasic

  /// - Returns: the next request for the same file, after a 401 that offers these schemes; `nil` if the 401 is final.
  func next(_ offers: Set<LoginScheme>) -> LoginStage? {
    switch self {
    case .basic: offers.contains(.digest) ? .probe : offers.contains(.negotiate) ? .negotiate(isLast: true) : nil
    case .probe where offers.contains(.digest): .digest(isFresh: true)
    case .probe where offers.contains(.negotiate): .negotiate(isLast: false)
    case .probe, .negotiate(isLast: false): offers.contains(.basic) ? .plainBasic : nil
    // The challenge worked for other files: it has become stale, or belongs to another realm.
    case .digest(isFresh: false): offers.contains(.digest) ? .probe : offers.contains(.basic) ? .plainBasic : nil
    // Basic is not tried, either: it would send a password in the clear that was not sent so far.
    case .digest(isFresh: true), .negotiate(isLast: true), .plainBasic: nil
    }
  }

  /// Whether libcurl would answer a further challenge by itself.
  var isAnsweredByLibcurl: Bool { schemes == dlm_auth_digest || schemes == dlm_auth_negotiate }

  /// CURLOPT_HTTPAUTH.
  var schemes: Int {
    switch self {
    case .basic, .plainBasic: dlm_auth_basic
    case .probe: dlm_auth_none
    case .digest: dlm_auth_digest
    case .negotiate: dlm_auth_negotiate
    }
  }
}
