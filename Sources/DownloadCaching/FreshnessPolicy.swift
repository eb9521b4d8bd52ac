import DownloadModel
import FileReceiving
import Synchronization

/// How long answers count as fresh, by what the user asks for (RFC 9111 §4.2, §5.2.1).
package struct FreshnessPolicy: Sendable, Equatable {
  /// Ask about every file, fresh or not (`--revalidate`).
  package var revalidates = false
  /// Guess a lifetime where the server names none (`--heuristic`, RFC 9111 §4.2.2).
  package var guesses = false
  /// Seconds; an older answer is asked about (`--max-age`).
  package var maxAge: Int?
  /// Seconds for which an answer may have been stale (`--max-stale`).
  package var maxStale: Int?

  /// The `Cache-Control` value that tells this to caches on the way; nil for nothing to say.
  var cacheControl: String? {
    let directives = [
      revalidates ? "no-cache" : nil, maxAge.map { "max-age=\($0)" }, maxStale.map { "max-stale=\($0)" },
    ].compactMap(\.self)
    return directives.isEmpty ? nil : directives.joined(separator: ", ")
  }
}
