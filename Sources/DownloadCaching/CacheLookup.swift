import DownloadModel
import FileReceiving

/// The decision on a request, given the index's rows of its files. Pure: no disk.
enum CacheLookup: Equatable {
  /// The URL's own file exists and is the answer: a cache hit.
  case hit(CacheRow, Basis)
  /// Another file on the disk has the same bytes, and a copy of it is the answer.
  case copy(CacheRow, Basis)
  /// The server is asked, by a conditional request if a version is known.
  case ask(KnownVersion?)
  case fail(DownloadError)

  enum Basis: Equatable {
    /// The file matches the user's checksum.
    case digest
    /// Another process downloaded it since this run started, or while the request waited for that process.
    case justFetched
    case fresh
    /// Stale, which the request allows (`--max-stale`, RFC 9111 §5.2.1.2).
    case stale
    /// `--offline`, or `only-if-cached` (RFC 9111 §5.2.1.7)
    case offline
  }

  struct Question {
    /// Seconds since 1970.
    var now: Int64 = 0
    /// Whether the own file matches the user's checksum; `nil` without a file or a checksum.
    var hasDigest: Bool?
    /// Whether the own file may be of an expected type (`--expect`).
    var hasType = true
    /// A file with a weaker proof is not used (`--require-proof`).
    var requiredProof = Proof.nothing
    /// A longer file is not used, in bytes (`--max-filesize`); `nil` for no limit.
    var maxSize: Int64?
    /// The length in bytes that the list declares. A file of another length is not used. `nil` for any length.
    var declaredSize: Int64?
    /// The known files when the request started to wait for another process; `nil` if it did not wait.
    var before: KnownFiles?
    /// When this run started; `nil` if no other process was alive meanwhile.
    var began: RunStart?
    /// `--refresh`
    var refreshes = false
    /// `--offline`
    var isOffline = false
    /// `--heuristic`
    var guesses = false
    var directives = RequestDirectives()

    func allows(_ row: CacheRow) -> Bool {
      let size = row.identity.size
      return size <= maxSize ?? .max && size == declaredSize ?? size
    }
    func isProved(_ row: CacheRow) -> Bool { row.proof >= requiredProof }
  }

  static func decide(
    _ known: KnownFiles, _ question: Question, _ reader: FreshnessReader = FreshnessReader()
  ) -> CacheLookup {
    if !question.refreshes, let hit = unasked(known, question, reader) { return hit }
    if question.isOffline || question.directives.onlyIfCached { return offline(known, question) }
    return .ask(question.refreshes ? nil : version(known, question))
  }

  private static func unasked(_ known: KnownFiles, _ question: Question, _ reader: FreshnessReader) -> CacheLookup? {
    if let own = known.own {
      guard question.allows(own), question.hasType else { return nil }
      // A matching checksum proves more than an answer of the server could.
      if let hasDigest = question.hasDigest { return hasDigest ? .hit(own, .digest) : nil }
      if known.ownReuse == .asOwn, question.isProved(own), let basis = basis(own, question, reader) {
        return .hit(own, basis)
      }
    }
    // Another process may have downloaded a newer version into its folder.
    guard let elsewhere = known.elsewhere,
      known.own.map({ wasFetched(elsewhere, question) && $0.fetchedAt <= elsewhere.fetchedAt }) ?? true,
      known.elsewhereReuse == .asOwn, question.isProved(elsewhere), question.allows(elsewhere)
    else { return nil }
    return basis(elsewhere, question, reader).map { .copy(elsewhere, $0) }
  }

  /// Whether another process downloaded this file while the request waited, or since this run started. The file is then
  /// as new as a download by this run. Without this rule, of eight runs with one list, seven would ask about each new
  /// file.
  private static func wasFetched(_ row: CacheRow, _ question: Question) -> Bool {
    if let began = question.began, began.isBefore(row), row.fetchedAt <= question.now { return true }
    guard let before = question.before else { return false }
    return before.own?.identity != row.identity && before.elsewhere?.identity != row.identity
  }

  private static func basis(_ row: CacheRow, _ question: Question, _ reader: FreshnessReader) -> Basis? {
    if wasFetched(row, question) { return .justFetched }
    return reader.freshness(of: row, at: question.now, guesses: question.guesses).use(for: question.directives)
  }

  private static func version(_ known: KnownFiles, _ question: Question) -> KnownVersion? {
    // A 304 proves no bytes. A file with a wrong checksum or type, or with less proof than a length, is downloaded
    // again.
    guard let row = known.own ?? known.elsewhere,
      known.own == nil || question.hasDigest != false && question.hasType,
      !row.validator.isEmpty, question.allows(row), row.proof >= min(question.requiredProof, .length)
    else { return nil }
    let reuse = known.own == nil ? known.elsewhereReuse : known.ownReuse
    return reuse == .never ? nil : KnownVersion(row, isSelected: reuse == .asOwn)
  }

  /// If no server may be asked, because of `--offline` or of a request line (`only-if-cached`).
  static func activity(isOffline: Bool) -> String { isOffline ? "answering offline" : "answering unasked" }

  private static func offline(_ known: KnownFiles, _ question: Question) -> CacheLookup {
    let activity = Self.activity(isOffline: question.isOffline)
    func fail(
      _ code: DownloadError.Code, _ detail: String, _ activity: String, at row: CacheRow? = nil
    ) -> CacheLookup {
      .fail(DownloadError(code, detail, activity, path: row?.path))
    }
    let isOwn = known.own != nil && known.ownReuse == .asOwn
    guard let row = isOwn ? known.own : known.elsewhere, isOwn || known.elsewhereReuse == .asOwn else {
      let other = "the cache has it for another login, certificate or header, or from an unverified server"
      return fail(.cache, known.isNothing ? "not in the cache" : other, activity)
    }
    if let declared = question.declaredSize, declared != row.identity.size {
      return .fail(Verification.wrongSize(declared, "\(row.identity.size)", "checking"))
    }
    guard question.allows(row) else {
      let detail = "\(row.identity.size) bytes, at most \(question.maxSize ?? 0) are allowed"
      return fail(.tooLarge, detail, "checking", at: row)
    }
    guard !isOwn || question.hasDigest != false else {
      return fail(.digest, "the file on disk has another checksum", activity, at: row)
    }
    guard !isOwn || question.hasType else {
      return fail(.wrongType, "the file on disk has another type", activity, at: row)
    }
    guard question.isProved(row) else {
      return fail(.unproven, Verification.lack(row.proof, question.requiredProof), "checking", at: row)
    }
    return isOwn ? .hit(row, .offline) : .copy(row, .offline)
  }
}
