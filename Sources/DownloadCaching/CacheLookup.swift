import DownloadModel

/// What the index knows about one request.
final class KnownFiles: Sendable {
  /// The file that this very request wrote here, intact.
  let own: CacheRow?
  /// The same address's file elsewhere, intact and worth asking the server about.
  let elsewhere: CacheRow?
  /// Whether the requests that brought them were like this one (RFC 9111 §4.1).
  let (ownIsSelected, elsewhereIsSelected): (Bool, Bool)
  let ownership: DownloadPlan.Ownership

  /// The usual answers of a first run and of a run without an index.
  static let notAsked = KnownFiles(.unknown)
  static let nothing = KnownFiles(.known(nil))

  var isNothing: Bool { own == nil && elsewhere == nil }

  init(
    _ ownership: DownloadPlan.Ownership, own: CacheRow? = nil, elsewhere: CacheRow? = nil,
    selected: (own: Bool, elsewhere: Bool) = (true, true)
  ) {
    self.own = own
    self.elsewhere = elsewhere
    (ownIsSelected, elsewhereIsSelected) = selected
    self.ownership = ownership
  }
}

/// What to do about a request, given what the index knows of its files. Pure: it touches no disk.
enum CacheLookup: Equatable {
  /// The address's own file is here and is the answer: a hit.
  /// - Parameter proof: `.digest` where its checksum was compared; nil where nothing was compared.
  case hit(CacheRow, Proof?)
  /// The same bytes are elsewhere on the disk, and the server must not be asked (`--offline`).
  case copy(CacheRow)
  /// The server is asked; with a known version, by a conditional request.
  case ask(KnownVersion?)
  case fail(DownloadError)

  struct Question {
    /// Whether the own file has the checksum that the user gave; nil where there is no such file or checksum.
    var hasDigest: Bool?
    /// Whether another process had the request under way a moment ago.
    var cameSecond = false
    /// `--refresh`
    var refreshes = false
    /// `--offline`
    var isOffline = false
  }

  static func decide(_ known: KnownFiles, _ question: Question) -> CacheLookup {
    if let own = known.own, !question.refreshes {
      // A matching checksum proves more than an answer of the server could.
      if question.hasDigest == true { return .hit(own, .digest) }
      // Another process fetched this file while the request waited for it, so it is up to date.
      if question.cameSecond, known.ownIsSelected, question.hasDigest == nil { return .hit(own, nil) }
    }
    if question.isOffline { return offline(known, question) }
    return .ask(question.refreshes ? nil : version(known, question.hasDigest))
  }

  /// The version to put into a conditional request, so that an unchanged file is not fetched again.
  private static func version(_ known: KnownFiles, _ hasDigest: Bool?) -> KnownVersion? {
    guard let own = known.own else {
      return known.elsewhere.map { KnownVersion($0, isSelected: known.elsewhereIsSelected) }
    }
    // A 304 says only that the server's file is the same, not that the file is the right one; so a file with
    // a wrong checksum is fetched again.
    guard !own.validator.isEmpty, hasDigest != false else { return nil }
    return KnownVersion(own, isSelected: known.ownIsSelected)
  }

  private static func offline(_ known: KnownFiles, _ question: Question) -> CacheLookup {
    if let own = known.own, known.ownIsSelected {
      guard question.hasDigest != false else {
        return .fail(
          DownloadError(
            .digest, cause: .detail("the file on disk has another checksum"), path: own.path,
            activity: "answering offline"))
      }
      return .hit(own, nil)
    }
    if let elsewhere = known.elsewhere, known.elsewhereIsSelected { return .copy(elsewhere) }
    let detail =
      known.isNothing
      ? "not on disk" : "what is on disk was the answer to a request with other header lines"
    return .fail(DownloadError(.cache, cause: .detail(detail), activity: "answering offline"))
  }
}
