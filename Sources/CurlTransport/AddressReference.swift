import CCurl
public import DownloadModel

/// What is written relative to an address (RFC 3986 §5): a `Location`, a line of a list that was found there.
public enum AddressReference {
  /// - Returns: nil where that is no address that dlm can fetch. Within the same origin it has the login of `base`.
  public static func resolve(_ text: String, against base: Address) -> Address? {
    resolved(text, against: base.key).flatMap { try? Address($0) }.map { address in
      base.hasCredentials && !address.hasCredentials && address.isSameOrigin(as: base)
        ? address.withLogin(of: base) : address
    }
  }

  /// By libcurl's own parser, which also reads what servers write instead of RFC 3986.
  static func resolved(_ text: String, against base: String) -> String? {
    guard let url = curl_url() else { return nil }
    defer { curl_url_cleanup(url) }
    let flags = UInt32(CURLU_URLENCODE | CURLU_ALLOW_SPACE | CURLU_NON_SUPPORT_SCHEME)
    guard curl_url_set(url, CURLUPART_URL, base, 0) == CURLUE_OK,
      curl_url_set(url, CURLUPART_URL, text, flags) == CURLUE_OK
    else { return nil }
    var result: UnsafeMutablePointer<CChar>?
    guard curl_url_get(url, CURLUPART_URL, &result, 0) == CURLUE_OK, let result else { return nil }
    defer { curl_free(result) }
    return String(cString: result)
  }
}
