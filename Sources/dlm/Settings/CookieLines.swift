import DownloadModel

/// Cookies in Netscape's format: domain, whether it includes subdomains, path, whether TLS is required, expiry (seconds
/// since 1970; 0 with the session), name and value, separated by tabs.
enum CookieLines {
  static func cookies(in text: String) -> [String] {
    text.split(whereSeparator: \.endsLine).map(String.init).filter { fields($0) != nil }
  }

  /// The run's changes, from `before` to `after`, applied to the cookies that the file contains now.
  static func merged(before: [String], after: [String], there: [String], now: Int64) -> [String] {
    let old = table(before)
    let new = table(after)
    var merged = table(there)
    for (key, line) in new where old[key] != line { merged[key] = line }
    for key in old.keys where new[key] == nil { merged[key] = nil }
    // If a domain has too many, the longest-lived stay; if a jar is too large, those that the file had before.
    let byEnd = Dictionary(grouping: merged.values) { line in fields(line).flatMap { Int64($0[4]) } ?? 0 }
    let lasting = byEnd.keys.filter { $0 == 0 || $0 > now }.sorted(by: >).flatMap { byEnd[$0] ?? [] }
    let kept = Dictionary(grouping: lasting, by: Trust.cookieDomain).values.flatMap { $0.prefix(mostPerDomain) }
    let earlier = Set(there)
    var room = CookieJarFile.largest - 1024
    return (kept.filter(earlier.contains) + kept.filter { !earlier.contains($0) }).prefix { line in
      room -= line.utf8.count + 1
      return room >= 0
    }.sorted()
  }

  /// libcurl sends no more; RFC 6265 §6.1 requires 50.
  private static let mostPerDomain = 150

  private static func table(_ lines: [String]) -> [String: String] {
    Dictionary(lines.compactMap { line in key(line).map { ($0, line) } }) { $1 }
  }

  /// The identity of a cookie: domain, path and name (RFC 6265 §5.3).
  private static func key(_ line: String) -> String? {
    fields(line).map { fields in
      [Trust.cookieDomain(line), fields[1].uppercased(), fields[2], fields[5]].joined(separator: "\t")
    }
  }

  private static func fields(_ line: String) -> [String]? {
    if line.hasPrefix("#"), !line.hasPrefix("#HttpOnly_") { return nil }
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    // A cookie without a value may lack its last field.
    return fields.count == 7 || fields.count == 6 ? fields : nil
  }
}
