package import DownloadModel

/// All decisions about one file before its download starts. A class, because it is passed on from step to step.
package final class DownloadPlan: Sendable {
  package indirect enum Ownership: Equatable {
    /// Not looked up, because an empty index is not read before a transfer.
    case unknown
    case known(CacheRow?)
  }

  /// `outputName` is a valid file name.
  package let request: DownloadRequest
  let shared: SharedRules
  package let directory: OutputDirectory
  package let rowKey: RowKey
  package let trust: RequestTrust
  /// The requested name, or else the one from the URL. A server's choice may replace the latter.
  package let nameByAddress: String
  package let files: KnownFiles
  /// The version that a conditional request may ask about: that of `own` or `elsewhere`.
  let known: KnownVersion?
  /// The owner of each file in the folder, if the policy needs it before the transfer (`skip`).
  package let owners: FileOwners?
  package let isIndexed: Bool
  /// Whether another request may just have written the file: the list had the URL before, or another process runs.
  let mayStandAlready: Bool

  package init(
    _ request: DownloadRequest, _ shared: SharedRules, in directory: OutputDirectory, rowKey: RowKey,
    trust: RequestTrust = .usual, files: KnownFiles = .notAsked, known: KnownVersion? = nil,
    owners: FileOwners? = nil, isIndexed: Bool = false, mayStandAlready: Bool = false
  ) {
    self.request = request
    self.shared = shared
    self.directory = directory
    self.rowKey = rowKey
    self.trust = trust
    nameByAddress = request.outputName ?? FileNaming.name(of: request.address, from: request.provenance)
    self.files = files
    self.known = known
    self.owners = owners
    self.isIndexed = isIndexed
    self.mayStandAlready = mayStandAlready
  }

  package var own: CacheRow? { files.own }
  package var elsewhere: CacheRow? { files.elsewhere }
  var rules: ReceivingRules { shared.rules }
  var conflictPolicy: ConflictPolicy { rules.conflictPolicy(of: request) }
  /// Whether a taken name leads to a numbered one. A name from the user or the list is exact, unless the policy is to
  /// rename.
  var mayNumber: Bool { conflictPolicy.numbers || conflictPolicy != .fail && request.outputName == nil }
  package var address: Address { request.address }
  package var expectedTypes: ExpectedTypes? { request.expectedTypes ?? rules.expectedTypes }

  // MARK: Names

  /// The name if it is certain before any answer; `nil` if the server may choose it.
  package var certainName: String? {
    rules.useContentDisposition && request.outputName == nil ? nil : preferred(nameByAddress)
  }

  /// `wanted` with the list's number, if it is the requested or the URL's name and not a server's choice.
  package func preferred(_ wanted: String) -> String {
    guard request.nameNumber > 0, FileNaming.areSame(wanted, nameByAddress) else { return wanted }
    return FileNaming.alternative(wanted, request.nameNumber)
  }

  /// The first number to try beside a taken name. It exceeds the list's numbers, so that no other URL loses its name.
  func firstFallback(beside wanted: String) -> Int {
    max(directory.numbers.first(beside: wanted), (rules.names?.last(of: wanted, in: request.folder) ?? 0) + 1)
  }

  func wantedName(_ head: ResponseHead?) -> String? {
    if let name = request.outputName { return name }
    guard rules.useContentDisposition else { return nil }
    return head?["content-disposition"].flatMap { FileNaming.name(contentDisposition: $0) }
  }

  func isOfAddress(_ name: String) -> Bool {
    // A third-party URL gives no hidden name.
    [Provenance.user, .thirdParty].contains { FileNaming.areSame(FileNaming.name(of: address, from: $0), name) }
  }

  /// Whether a file belongs to another URL, in this run or an earlier one. For an exact name, files of earlier runs do
  /// not count.
  package func isOfAnotherAddress(_ file: StandingFile, _ owners: FileOwners) -> Bool {
    directory.isGiven(file.identity, besides: rowKey)
      || request.outputName == nil && owners.isOwned(file.identity, besides: rowKey)
  }

  /// The existing file under a name, if the policy is to leave it (`--on-conflict skip`).
  package func fileToLeave(_ name: String) throws(DownloadError) -> StandingFile? {
    guard conflictPolicy == .skip, own.map({ FileNaming.areSame($0.name, name) }) != true,
      let standing = try directory.standing(name),
      !isOfAnotherAddress(standing, owners ?? FileOwners())
    else { return nil }
    return standing
  }

  /// - Parameter length: of the new file in bytes; `nil` if unknown.
  /// - Throws: `.conflict` if the policy is `fail` and the name has a file of another length that is not this URL's
  ///   own.
  func refuse(_ name: String, length: Int64?) throws(DownloadError) {
    guard conflictPolicy == .fail, let length, own?.name != name, let standing = try directory.standing(name),
      standing.identity.size != length, files.written?.isOwn(standing) != true
    else { return }
    throw taken(name)
  }

  func taken(_ name: String) -> DownloadError {
    DownloadError(.conflict, path: directory.path(of: name), activity: "replacing")
  }

  package func skipped(_ name: String, _ standing: StandingFile?) -> DownloadOutcome {
    DownloadOutcome(kind: .skipped, path: directory.path(of: name), size: max(0, standing?.identity.size ?? 0))
  }

  // MARK: Checksums

  package var hasUserDigests: Bool { request.checksum != nil || rules.checksums != nil }

  /// Whether a digest will prove a file of that name and length, whichever source sends its bytes. The digest must come
  /// from the user, from the list, or from the file's own server, beside its mirrors. Only such a file may combine
  /// answers of several origins (HTTP rules 47 and 57).
  /// - Parameter byUser: true to ignore digests from the server.
  func isProvable(named name: String, total: Int64?, byUser: Bool = false) -> Bool {
    if let total, request.pieces?.cover(total) == true { return true }
    return (userDigest(named: name) ?? (byUser ? nil : request.named?.digest))?.algorithm.findsForgery == true
  }

  /// Whether a part was received over http although the file's URL is https.
  func leftTLS(_ held: HeldPart) -> Bool {
    address.scheme == .https && held.effectiveURL?.utf8.starts(with: "http://".utf8) == true
  }

  /// The numbered name first, because dlm writes numbered names into a list of checksums.
  package func userDigest(named name: @autoclosure () -> String) -> ContentDigest? {
    request.checksum ?? rules.checksums.flatMap { $0.digest(of: preferred(name())) ?? $0.digest(of: name()) }
  }

  /// The expected checksum, in the order of trust (HTTP rule 23): the user's, the list's, the one that the URL's own
  /// server gave beside its mirrors, the answer's. `nil` if the list gave hashes of pieces instead.
  /// - Parameter redirect: the redirect that led to the answer, if it named mirrors.
  package func expectedDigest(
    named name: @autoclosure () -> String, _ head: ResponseHead?, beside redirect: NamedMirrors? = nil
  ) -> ContentDigest? {
    userDigest(named: name())
      ?? (request.pieces == nil ? (request.named ?? redirect)?.digest ?? digest(in: head) : nil)
  }

  private func digest(in head: ResponseHead?) -> ContentDigest? {
    head?.digest ?? (request.source.scheme == .s3 ? head?.objectDigest : nil)
  }
}
