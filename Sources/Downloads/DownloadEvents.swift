public import DownloadModel

/// What happens to one file of a list: first `began`, then any number of `progress` and `retrying`, and at last
/// `finished` or `failed`, once. An address that is none has only `failed`.
public enum DownloadEvent: Sendable {
  /// The file is under way. For a small file this comes together with its end.
  case began(index: Int, DownloadItem)
  /// More of it is there. Coalesced: at most one for each file and `progressInterval`; a slow reader gets the latest.
  case progress(DownloadProgress)
  /// An attempt failed, and another follows after a pause.
  case retrying(index: Int, DownloadItem, NextAttempt, DownloadError)
  /// Never lost or coalesced.
  case finished(index: Int, DownloadItem, DownloadedFile)
  /// Never lost or coalesced. Other files go on.
  case failed(index: Int, DownloadItem, DownloadError)
}

/// The progress of one file.
public struct DownloadProgress: Sendable, Equatable {
  /// Its place in the list, from 0.
  public let index: Int
  /// As the program gave it.
  public let item: DownloadItem
  /// Bytes of the file that are there, those of an earlier, interrupted session included.
  public let bytes: Int64
  /// Length of the whole file; nil while it is unknown.
  public let total: Int64?
  /// From 0 to 1; nil while the length is unknown.
  public var fraction: Double? { total.map { $0 > 0 ? min(1, max(0, Double(bytes) / Double($0))) : 1 } }
}

/// A list of downloads, and what happens to its files.
///
/// Nothing begins before it is iterated. Each iteration downloads the list once more; with a cache folder, what is
/// there is not fetched again.
///
/// - Cancellation: when the iterating task is cancelled, or the loop is left early, downloads under way end at once,
///   and keep what can be resumed. A cancelled reader still gets the outcome of each file that had begun; then
///   `DownloadError.cancelled` is thrown.
/// - Backpressure: while 1024 outcomes wait to be read, no further file begins. Progress is coalesced.
/// - Throws, from the iteration: `.cancelled`; `.closed` when the session is closed; what keeps all further files from
///   being written, such as a full disk. The failure of one file is the event `failed`.
public struct DownloadEvents: AsyncSequence, Sendable {
  public typealias Element = DownloadEvent
  public typealias Failure = DownloadError

  let begin: @Sendable () -> (call: ListCall, work: Task<Void, Never>?)

  public func makeAsyncIterator() -> Iterator { Iterator(owner: Owner(begin())) }

  /// Ends the downloads when they have no reader any more.
  fileprivate final class Owner: Sendable {
    let call: ListCall
    /// Nil in a closed session.
    let work: Task<Void, Never>?

    init(_ begun: (call: ListCall, work: Task<Void, Never>?)) { (call, work) = begun }

    deinit { cancel() }

    func cancel() {
      call.stop(.cancelled)
      work?.cancel()
    }
  }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let owner: Owner

    public mutating func next() async throws(DownloadError) -> DownloadEvent? { try await next(isolation: nil) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DownloadError) -> DownloadEvent? {
      if !Task.isCancelled, let event = await owner.call.event() { return try event.get() }
      // All outcomes are there once the work has ended.
      owner.cancel()
      await owner.work?.value
      return try owner.call.takeEvent()?.get() ?? nil
    }
  }
}

/// One file to download: its address, and what is wanted of it.
public struct DownloadItem: Sendable, Hashable, ExpressibleByStringLiteral {
  /// Absolute, `http` or `https`. A login in it (`https://user:secret@host/`) is sent and never shown.
  public var address: String
  /// The name of the file in the session's folder; nil for the one that the server or the address gives.
  public var name: String?
  /// The checksum that the file must have.
  public var checksum: ContentDigest?
  /// `Name: value`, sent to this URL's origin only, beside the session's. Equal URLs under way are fetched once, with
  /// the lines of the first.
  public var headerLines: [String] = []
  /// Other URLs of the same file, tried in this order after its own has failed. Of an https URL, one over http needs a
  /// `checksum` by SHA-2 or better.
  public var mirrors: [String] = []
  /// Whether it goes before the others of its list, if that is a collection.
  public var isFirst = false

  /// - Parameter address: checked when the item is downloaded.
  public init(_ address: String, name: String? = nil, checksum: ContentDigest? = nil) {
    (self.address, self.name, self.checksum) = (address, name, checksum)
  }

  public init(stringLiteral address: String) { self.init(address) }
}
