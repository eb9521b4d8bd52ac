import DownloadModel

/// All that is settled about one file before its transfer begins. Handed on from step to step, so by reference.
final class FileOrder: Sendable {
  let address: Address
  /// `--output`, checked to be a file name.
  let requested: String?
  /// The name if the server has no say or says nothing.
  let nameByAddress: String
  /// Its number, where several addresses of the list give this name.
  let number: Int
  /// Whether the file may have been written, under this very name, a moment ago: the address stood in the list before,
  /// or other processes are at work.
  let mayStandAlready: Bool
  /// What the list's names came to; nil for a request that is in none.
  let names: NameNumbers?
  let meter: TransferMeter
  let directory: OutputDirectory
  let scope: String
  /// This address's own finished file here, intact.
  let own: CacheRow?
  /// What a conditional request may ask about: `own`, or the same address's intact file of another folder.
  let known: KnownVersion?
  /// Whether the file is fetched anew, past every cache (`--refresh`).
  let refreshes: Bool
  let policy: ConflictPolicy
  /// Whose the files of the folder are, where the policy must know before the transfer (`skip`).
  let owners: FileOwners?
  /// A longer file fails (`--max-filesize`), in bytes.
  let maxSize: Int64?
  let usesContentDisposition: Bool
  /// Whether the file gets the server's Last-Modified (`--remote-time`).
  let usesRemoteTime: Bool
  /// What the file must come to, as the user said of this address.
  let checksum: ContentDigest?
  /// The same for a whole list, by name.
  let checksums: ChecksumList?
  /// The least proof that lets the file have its final name.
  let requiredProof: Proof
  /// Whether a row is made for the finished file.
  let isIndexed: Bool
  /// Seconds since 1970.
  let now: @Sendable () -> Int64

  init(
    address: Address, requested: String?, meter: TransferMeter, directory: OutputDirectory, scope: String,
    own: CacheRow?, known: KnownVersion?, policy: ConflictPolicy, usesContentDisposition: Bool,
    isIndexed: Bool, checksum: ContentDigest? = nil, checksums: ChecksumList? = nil,
    requiredProof: Proof = .nothing, refreshes: Bool = false, number: Int = 0, mayStandAlready: Bool = false,
    names: NameNumbers? = nil, owners: FileOwners? = nil, maxSize: Int64? = nil,
    usesRemoteTime: Bool = false, now: @escaping @Sendable () -> Int64
  ) {
    self.number = number
    self.mayStandAlready = mayStandAlready
    self.names = names
    self.owners = owners
    self.maxSize = maxSize
    self.address = address
    self.requested = requested
    nameByAddress = requested ?? FileNaming.name(of: address)
    self.meter = meter
    self.directory = directory
    self.scope = scope
    self.own = own
    self.known = known
    self.refreshes = refreshes
    self.policy = policy
    self.usesContentDisposition = usesContentDisposition
    self.usesRemoteTime = usesRemoteTime
    self.isIndexed = isIndexed
    self.checksum = checksum
    self.checksums = checksums
    self.requiredProof = requiredProof
    self.now = now
  }

  /// The name that is sure before any answer; nil while the server has a say.
  var certainName: String? { usesContentDisposition && requested == nil ? nil : preferred(nameByAddress) }

  /// The name under which a file is to stand that is to be called so: the address's number belongs to it, a server's
  /// choice has none.
  func preferred(_ wanted: String) -> String {
    guard number > 0, requested == nil, wanted == nameByAddress else { return wanted }
    return FileNaming.alternative(wanted, number)
  }

  /// The first number for a file whose name is taken by something that is none of its own: behind those that the list
  /// gives, so that no other address is pushed off its place.
  func firstFallback(beside wanted: String) -> Int {
    max(directory.numbers.first(beside: wanted), (names?.last(of: wanted) ?? 0) + 1)
  }

  /// Whether what stands there was given to another address, by this run or an earlier one.
  func isAnothers(_ file: StandingFile, _ owners: FileOwners) -> Bool {
    owners.isOwned(file.identity, besides: rowKey) || directory.isGiven(file.identity)
  }

  /// The name by the answer: the user's, the server's, the address's.
  func wantedName(_ head: ResponseHead?) -> String? {
    if let requested { return requested }
    guard usesContentDisposition else { return nil }
    return head?["content-disposition"].flatMap { FileNaming.name(contentDisposition: $0) }
  }

  /// Whether the user gave any checksum that may be this file's.
  var hasUserDigests: Bool { checksum != nil || checksums != nil }

  /// The checksum that the user gave, for this address or in a list.
  func userDigest(named name: @autoclosure () -> String) -> ContentDigest? {
    checksum ?? checksums?.digest(of: name())
  }

  /// The checksum to meet, in the order of trust (http.md 23): the user's, the list's, the server's own.
  /// - Parameter name: asked for only where there is a list.
  func expectedDigest(named name: @autoclosure () -> String, _ head: ResponseHead?) -> ContentDigest? {
    userDigest(named: name()) ?? head?["repr-digest"].flatMap(ReprDigest.strongest)
  }

  var owner: PartialOwner { PartialOwner(address: address.key, scope: scope) }

  var rowKey: RowKey {
    RowKey(
      address: address.key, scope: scope, directory: directory.canonicalPath, requested: requested ?? "")
  }
}
