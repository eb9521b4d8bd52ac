/// One file that the user asked for: a line of a list, or an address on the command line.
public struct DownloadRequest: Sendable, Identifiable {
  /// Position in the run, from 0: unique in it, and the order in which the list was written.
  public let id: Int
  public let address: Address
  /// The name that the user chose (`--output`); nil lets the server and the address decide (RFC 6266).
  public let outputName: String?
  /// The checksum that the file must have (`--checksum`).
  public let checksum: ContentDigest?
  /// How many different addresses before it in the list give the same name: the number in its own.
  public let nameNumber: Int
  /// Whether the address stood in the list before.
  public let isRepeat: Bool

  public init(
    id: Int, address: Address, outputName: String? = nil, checksum: ContentDigest? = nil, nameNumber: Int = 0,
    isRepeat: Bool = false
  ) {
    self.id = id
    self.address = address
    self.outputName = outputName
    self.checksum = checksum
    self.nameNumber = nameNumber
    self.isRepeat = isRepeat
  }
}

/// Where the requests of a run come from, one after the other, read no faster than they are wanted.
///
/// Several lanes may call `next()` at the same time; each request is given to exactly one of them.
public protocol RequestSource: Sendable {
  /// The next request, or nil at the end of the list, for every caller and for good.
  nonisolated(nonsending) func next() async -> DownloadRequest?

  /// The next request, if it can be had without waiting.
  func takeAtOnce() -> DownloadRequest?
}

extension RequestSource {
  public func takeAtOnce() -> DownloadRequest? { nil }
}
