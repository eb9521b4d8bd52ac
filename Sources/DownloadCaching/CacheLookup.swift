import DownloadModel
import FileReceiving

/// What to do about a request, given what the index knows of its files. Pure: it touches no disk.
enum CacheLookup: Equatable {
  /// The address's own file exists and is the answer: a hit.
  case hit(CacheRow, Basis)
  /// The same bytes are elsewhere on the disk and are the answer.
  case copy(CacheRow, Basis)
  /// The server is asked; with a known version, by a conditional request.
  case ask(KnownVersion?)
  case fail(DownloadError)

  enum Basis: Equatable {
    /// The file has the checksum that the user gave.
    case digest
    /// Another process fetched it since this run began, or while the request waited for it.
    case justFetched
    case fresh
    /// Stale, and the request allows that (`--max-stale`, RFC 9111 §5.2.1.2).
    case stale
    /// `--offline`, or `only-if-cached` (RFC 9111 §5.2.1.7)
    case offline
  }

  struct Question {
    /// Seconds since 1970.
    var now: Int64 = 0
    /// Whether the own file has the checksum that the user gave; nil without a file or a checksum.
    var hasDigest: Bool?
    /// Whether the own file may be of a type that the user expects (`--expect`).
    var hasType = true
    /// What proves less answers nothing (`--require-proof`).
    var requiredProof = Proof.nothing
    /// Longer files answer nothing, in bytes (`--max-filesize`); nil for any length.
    var maxSize: Int64?
    /// Files of another length answer nothing, in bytes, as the list declares it; nil for any length.
    var declaredSize: Int64?
    /// What was known when the request began to wait for another process; nil if it did not wait.
    var before: KnownFiles?
    /// When this run began, if another process was alive meanwhile.
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
    // Another process may have fetched a newer version into its folder.
    guard let elsewhere = known.elsewhere,
      known.own.map({ wasFetched(elsewhere, question) && $0.fetchedAt <= elsewhere.fetchedAt }) ?? true,
      known.elsewhereReuse == .asOwn, question.isProved(elsewhere), question.allows(elsewhere)
    else { return nil }
    return basis(elsewhere, question, reader).map { .copy(elsewhere, $0) }
  }

  /// Whether another process fetched this file while the request waited, or since this run began: then it is as new as
  /// what this run would fetch. Else, of eight runs with one list, seven would ask about each new file.
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
    // A 304 proves no bytes: a file with a wrong checksum or type, or proved by less than a length, is fetched again.
    guard let row = known.own ?? known.elsewhere,
      known.own == nil || question.hasDigest != false && question.hasType,
      !row.validator.isEmpty, question.allows(row), row.proof >= min(question.requiredProof, .length)
    else { return nil }
    let reuse = known.own == nil ? known.elsewhereReuse : known.ownReuse
    return reuse == .never ? nil : KnownVersion(row, isSelected: reuse == .asOwn)
  }

  /// Where no server may be asked, by `--offline` or else by a request line (`only-if-cached`).
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
