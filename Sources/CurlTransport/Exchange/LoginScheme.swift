import DownloadModel

/// The schemes in a WWW-Authenticate field that dlm supports (RFC 9110 §11.6.1).
enum LoginScheme: String, CaseIterable {
  case basic, digest, negotiate

  /// - Parameter field: all its lines, joined with commas, which also separate challenges and parameters.
  static func offered(by field: String) -> Set<LoginScheme> {
    var isQuoted = false
    var isEscaped = false
    let parts = field.utf8.split { byte in
      if byte == .quote, !isEscaped { isQuoted.toggle() }
      isEscaped = isQuoted && !isEscaped && byte == .backslash
      return byte == .comma && !isQuoted
    }
    return Set(parts.compactMap(scheme(of:)))
  }

  /// - Parameter part: `Digest realm="x"`, `nonce="y"`, `Negotiate`. A word that is not a parameter's name is a scheme.
  private static func scheme(of part: Substring.UTF8View) -> LoginScheme? {
    let text = OptionalWhiteSpace.trimmed(part)
    let word = text.prefix { !OptionalWhiteSpace.contains($0) && $0 != .equals }
    if OptionalWhiteSpace.trimmed(text[word.endIndex...]).first == .equals { return nil }
    return LoginScheme(rawValue: String(utf8: word).lowercased())
  }
}
