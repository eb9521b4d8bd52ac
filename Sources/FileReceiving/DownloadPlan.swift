package import DownloadModel

/// All that is decided about one file before its download begins. A class, because it is handed on from step to step.
package final class DownloadPlan: Sendable {
  package indirect enum Ownership: Equatable {
    /// An empty index is not asked before a transfer.
    case unknown
    case known(CacheRow?)
  }

  /// `outputName` has been checked to be a file name.
  package let request: DownloadRequest
  let shared: SharedRules
  package let directory: OutputDirectory
  package let rowKey: RowKey
  package let trust: RequestTrust
  /// The name if the server may not choose one or gives none.
  package let nameByAddress: String
  package let files: KnownFiles
  /// What a conditional request may ask about: `own` or `elsewhere`.
  let known: KnownVersion?
  /// Which address owns which file of the folder, where the policy needs it before the transfer (`skip`).
  package let owners: FileOwners?
  package let isIndexed: Bool
  /// Whether the file may have been written a moment ago: the address stood in the list before, or there is company.
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
  /// Whether a taken name leads to a numbered one. A name that the user or the list gives is exact.
  var mayNumber: Bool { conflictPolicy.numbers || conflictPolicy != .fail && request.outputName == nil }
  package var address: Address { request.address }
  package var expectedTypes: ExpectedTypes? { request.expectedTypes ?? rules.expectedTypes }

  // MARK: Names

  /// The name, if it is certain before any answer; nil while the server may choose.
  package var certainName: String? {
    rules.useContentDisposition && request.outputName == nil ? nil : preferred(nameByAddress)
  }

  /// The wanted name with the list's number, if it is the line's or address's own and not a server's choice.
  package func preferred(_ wanted: String) -> String {
    guard request.nameNumber > 0, FileNaming.areSame(wanted, nameByAddress) else { return wanted }
    return FileNaming.alternative(wanted, request.nameNumber)
  }

  /// The first number beside a taken name, larger than those of the list, so that no other address loses its name.
  func firstFallback(beside wanted: String) -> Int {
    max(directory.numbers.first(beside: wanted), (rules.names?.last(of: wanted, in: request.folder) ?? 0) + 1)
  }

  func wantedName(_ head: ResponseHead?) -> String? {
    if let name = request.outputName { return name }
    guard rules.useContentDisposition else { return nil }
    return head?["content-disposition"].flatMap { FileNaming.name(contentDisposition: $0) }
  }

  func isOfAddress(_ name: String) -> Bool {
    // A stranger's address gives no hidden name.
    [Provenance.user, .stranger].contains { FileNaming.areSame(FileNaming.name(of: address, from: $0), name) }
  }

  /// Whether a file is another address's, in this run or an earlier one. An exact name does not give way to what an
  /// earlier run downloaded.
  package func isOfAnotherAddress(_ file: StandingFile, _ owners: FileOwners) -> Bool {
    directory.isGiven(file.identity, besides: rowKey)
      || request.outputName == nil && owners.isOwned(file.identity, besides: rowKey)
  }

  /// What stands under a name and is to be left alone (`--on-conflict skip`).
  package func fileToLeave(_ name: String) throws(DownloadError) -> StandingFile? {
    guard conflictPolicy == .skip, own.map({ FileNaming.areSame($0.name, name) }) != true,
      let standing = try directory.standing(name),
      !isOfAnotherAddress(standing, owners ?? FileOwners())
    else { return nil }
    return standing
  }

  /// - Parameter length: of the file that wants the name, in bytes; nil if unknown.
  /// - Throws: `.conflict` if a file of another length has an exact name.
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

  /// Whether digests that the user or the list gave, or the file's own server beside its mirrors, will prove a file of
  /// that name and length, whoever sends its bytes. Only such a file may be put together from answers of several
  /// origins (HTTP rules 47 and 57).
  /// - Parameter byUser: whether what the server gave does not count.
  func isProvable(named name: String, total: Int64?, byUser: Bool = false) -> Bool {
    if let total, request.pieces?.cover(total) == true { return true }
    return (userDigest(named: name) ?? (byUser ? nil : request.named?.digest))?.algorithm.findsForgery == true
  }

  /// Whether a part's bytes came over http although the file's URL is https.
  func leftTLS(_ held: HeldPart) -> Bool {
    address.scheme == .https && held.effectiveURL?.utf8.starts(with: "http://".utf8) == true
  }

  /// By the numbered name first, as dlm itself writes a list of checksums.
  package func userDigest(named name: @autoclosure () -> String) -> ContentDigest? {
    request.checksum ?? rules.checksums.flatMap { $0.digest(of: preferred(name())) ?? $0.digest(of: name()) }
  }

  /// The checksum to meet, in the order of trust (HTTP rule 23): the user's, the list's, that of its pieces, which is
  /// none of the whole, what the URL's own server gave beside its mirrors, the answer's own.
  /// - Parameter beside: a redirect that led to the answer.
  package func expectedDigest(
    named name: @autoclosure () -> String, _ head: ResponseHead?, beside redirect: NamedMirrors? = nil
  ) -> ContentDigest? {
    userDigest(named: name())
      ?? (request.pieces == nil ? (request.named ?? redirect)?.digest ?? head?.digest : nil)
  }
}
