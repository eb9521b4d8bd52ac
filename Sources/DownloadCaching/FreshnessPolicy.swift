/// How long answers count as fresh, by the user's options (RFC 9111 §4.2, §5.2.1).
package struct FreshnessPolicy: Sendable, Equatable {
  /// Revalidate every file, fresh or not (`--revalidate`).
  package var revalidates = false
  /// Guess a lifetime if the server names none (`--heuristic`, RFC 9111 §4.2.2).
  package var guesses = false
  /// Seconds; an older answer is revalidated (`--max-age`).
  package var maxAge: Int?
  /// Seconds for which an answer may be stale (`--max-stale`).
  package var maxStale: Int?

  /// The `Cache-Control` value that passes these options to caches on the way; `nil` if none is set.
  var cacheControl: String? {
    let directives = [
      revalidates ? "no-cache" : nil, maxAge.map { "max-age=\($0)" }, maxStale.map { "max-stale=\($0)" },
    ].compactMap(\.self)
    return directives.isEmpty ? nil : directives.joined(separator: ", ")
  }
}
