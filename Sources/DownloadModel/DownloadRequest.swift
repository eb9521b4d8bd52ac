import Synchronization

/// One file that the user requested: a line of a list, or an address on the command line.
public struct DownloadRequest: Sendable, Identifiable {
  /// Position in the run, from 0: unique in the run, and in the order of the list.
  public let id: Int
  public let address: Address
  /// The name that the user chose (`--output`); nil lets the server and the address decide (RFC 6266).
  public let outputName: String?
  /// The checksum that the file must have (`--checksum`).
  public let checksum: ContentDigest?
  /// How many different addresses before it in the list give the same name: the number that goes into its
  /// name.
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

  /// Two requests with equal keys ask for the same bytes under the same name, and are coalesced.
  public struct Key: Sendable, Hashable {
    /// With its credentials: an answer for an address with credentials never serves one without (RFC 9111
    /// §4).
    public var address: Address
    /// The name that the user chose.
    public var outputName: String?
    /// Requests that expect different bytes are not equal.
    public var checksum: ContentDigest?

    public init(address: Address, outputName: String? = nil, checksum: ContentDigest? = nil) {
      self.address = address
      self.outputName = outputName
      self.checksum = checksum
    }

    /// Hashes only the address, which stores its hash: the other fields rarely differ, and each file is
    /// looked up several times.
    public func hash(into hasher: inout Hasher) { hasher.combine(address) }
  }

  public var key: Key { Key(address: address, outputName: outputName, checksum: checksum) }
}

/// The source of a run's requests, one after the other, read no faster than they are needed.
///
/// Several lanes may call `next()` at the same time; each request is given to exactly one of them.
public protocol RequestSource: Sendable {
  /// The next request; nil at the end of the list, for every caller from then on, and for a cancelled task,
  /// so that no strategy can forget to stop.
  nonisolated(nonsending) func next() async -> DownloadRequest?

  /// The next request, if one is available without waiting.
  func takeAtOnce() -> DownloadRequest?
}

extension RequestSource {
  public func takeAtOnce() -> DownloadRequest? { nil }
}

/// A source over a lazy sequence that is in memory and never blocks, such as the addresses of a command line.
public final class RequestList: RequestSource {
  private let iterator: Mutex<AnyIterator<DownloadRequest>>

  /// The sequence is moved in, so that nothing else can still read from it.
  public init(_ requests: sending some Sequence<DownloadRequest>) {
    iterator = Mutex(AnyIterator(requests.makeIterator()))
  }

  public nonisolated(nonsending) func next() async -> DownloadRequest? {
    Task.isCancelled ? nil : iterator.withLock { $0.next() }
  }

  public func takeAtOnce() -> DownloadRequest? { iterator.withLock { $0.next() } }
}

/// The three ways to run a list; each has a file in the strategies of DownloadScheduling.
public enum DownloadMode: String, Sendable, CaseIterable, Codable {
  case sequential
  case asyncLet = "async-let"
  case parallel
}
