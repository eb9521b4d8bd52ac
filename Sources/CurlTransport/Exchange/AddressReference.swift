import CCurl
package import DownloadModel

/// Resolves a text relative to a URL (RFC 3986 §5): a `Location`, or a line of a list that was downloaded from there.
package enum AddressReference {
  /// - Returns: `nil` if dlm does not accept the result as a URL. Within the origin of `base`, the result gets its
  ///   login.
  package static func resolve(_ text: String, against base: Address) -> Address? {
    resolved(text, against: base.key).flatMap { try? Address($0) }.map { $0.withLogin(ifMissing: base) }
  }

  /// Uses libcurl's parser, which also accepts common violations of RFC 3986.
  static func resolved(_ text: String, against base: String) -> String? {
    guard let url = curl_url() else { return nil }
    defer { curl_url_cleanup(url) }
    let flags = UInt32(CURLU_URLENCODE | CURLU_ALLOW_SPACE | CURLU_NON_SUPPORT_SCHEME)
    guard curl_url_set(url, CURLUPART_URL, base, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK,
      curl_url_set(url, CURLUPART_URL, text, flags) == CURLUE_OK
    else { return nil }
    var result: UnsafeMutablePointer<CChar>?
    guard curl_url_get(url, CURLUPART_URL, &result, 0) == CURLUE_OK, let result else { return nil }
    defer { curl_free(result) }
    return String(cString: result)
  }
}
