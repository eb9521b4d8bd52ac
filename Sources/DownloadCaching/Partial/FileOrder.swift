import DownloadModel

/// All that is settled about one file before its transfer begins. Handed on from step to step, so by reference.
final class FileOrder: Sendable {
  let address: Address
  /// `--output`, checked to be a file name.
  let requested: String?
  /// The name if the server has no say or says nothing.
  let nameByAddress: String
  let meter: TransferMeter
  let directory: OutputDirectory
  let scope: String
  /// This address's own finished file here, intact.
  let own: CacheRow?
  /// What a conditional request may ask about: `own`, or the same address's intact file of another folder.
  let reusable: CacheRow?
  let policy: ConflictPolicy
  let usesContentDisposition: Bool
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
    own: CacheRow?, reusable: CacheRow?, policy: ConflictPolicy, usesContentDisposition: Bool,
    isIndexed: Bool, checksum: ContentDigest? = nil, checksums: ChecksumList? = nil,
    requiredProof: Proof = .nothing, now: @escaping @Sendable () -> Int64
  ) {
    self.address = address
    self.requested = requested
    nameByAddress = requested ?? FileNaming.name(of: address)
    self.meter = meter
    self.directory = directory
    self.scope = scope
    self.own = own
    self.reusable = reusable
    self.policy = policy
    self.usesContentDisposition = usesContentDisposition
    self.isIndexed = isIndexed
    self.checksum = checksum
    self.checksums = checksums
    self.requiredProof = requiredProof
    self.now = now
  }

  /// The name that is sure before any answer; nil while the server has a say.
  var certainName: String? { requested ?? (usesContentDisposition ? nil : nameByAddress) }

  /// The name by the answer: the user's, the server's, the address's.
  func wantedName(_ head: ResponseHead?) -> String? {
    if let requested { return requested }
    guard usesContentDisposition else { return nil }
    return head?["content-disposition"].flatMap { FileNaming.name(contentDisposition: $0) }
  }

  /// The checksum to meet, in the order of trust (http.md 23): the user's, the list's, the server's own.
  /// - Parameter name: asked for only where there is a list.
  func expectedDigest(named name: @autoclosure () -> String, _ head: ResponseHead?) -> ContentDigest? {
    checksum ?? checksums?.digest(of: name()) ?? head?["repr-digest"].flatMap(ReprDigest.strongest)
  }

  var owner: PartialOwner { PartialOwner(address: address.key, scope: scope) }

  var rowKey: RowKey {
    RowKey(
      address: address.key, scope: scope, directory: directory.canonicalPath, requested: requested ?? "")
  }
}
