import DownloadModel

/// Notes about a successful file, beyond its size.
enum OutcomeNote {
  static func waits(for process: Int?) -> String {
    "another dlm downloads it: waiting for \(process.map { "process \($0)" } ?? "it")"
  }

  static func text(_ outcome: DownloadOutcome) -> String {
    let kind: String? =
      switch outcome.kind {
      case .fetched: outcome.resumed > 0 ? "resumed from \(Quantity.bytes(outcome.resumed))" : nil
      case .unchanged: "unchanged"
      case .fresh: "fresh"
      case .copied: "from cache"
      case .skipped: "skipped: a file exists"
      }
    let remark: String? =
      switch outcome.remark {
      case .sameAsHere: "identical to the existing file"
      case .stale: "stale: the server was not asked, or failed"
      case .noContent: "empty: the server answered 204 No Content"
      case .decoded: "decompressed: the server had compressed it unasked"
      case .notCoded: "not compressed, though the server's Content-Encoding says so"
      case .stillCoded: "kept in the server's Content-Encoding"
      case .page: "the server calls it HTML: a login or error page?"
      case nil: nil
      }
    let replaced = outcome.hasReplaced ? "replacing an existing file" : nil
    return [kind, remark, replaced].compactMap(\.self).joined(separator: ", ")
  }
}
