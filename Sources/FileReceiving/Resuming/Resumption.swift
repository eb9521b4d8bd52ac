package import DownloadModel

extension ResponseHead {
  /// The failure that an answer without the wanted content means.
  /// - Parameter now: seconds since 1970, for a `Retry-After` that is a date.
  package func failure(now: Int64) -> DownloadError {
    let spent = allowance.flatMap { $0.left == 0 ? $0.time : nil }
    // GitHub sends 403 if the allowance is used up.
    let isRefusal = isRefusal || status == 403 && spent != nil
    let isTransient = isRefusal || HTTPStatus.isTransient(status)
    let asked = self["retry-after"].flatMap { Duration(retryAfter: $0, now: now) } ?? spent
    return DownloadError(
      .status, cause: .http(status: status), activity: status == 401 ? loginActivity : "", isTransient: isTransient,
      wasTurnedAway: isRefusal, retryAfter: isTransient ? asked : nil)
  }

  /// The activity of a 401 if the server accepts only a token (RFC 6750).
  package static var missingToken: String { "asking without a token" }

  private var loginActivity: String {
    if sentLogin { return DownloadError.loggingIn }
    let offers = self["www-authenticate"]?.lowercased() ?? ""
    return offers.contains("bearer") && !offers.contains("basic") && !offers.contains("digest") ? Self.missingToken : ""
  }

  /// The name of the resource that answered; `nil` for the requested URL.
  var effectiveName: String? { effectiveURL.map(EffectiveURL.name) }
}

extension Duration {
  /// How long the server asks clients to wait (RFC 9110 §10.2.3); `nil` if the field is neither seconds nor a date.
  /// Some servers send fractions.
  /// - Parameter now: seconds since 1970.
  init?(retryAfter field: String, now: Int64) {
    if field.utf8.allSatisfy("0123456789.".utf8.contains), let seconds = Double(field) {
      self = .seconds(min(seconds, Double(DeltaSeconds.largest)))
    } else {
      guard let date = HTTPDate(field) else { return nil }
      self = .seconds(max(0, date.seconds - now))
    }
  }
}
