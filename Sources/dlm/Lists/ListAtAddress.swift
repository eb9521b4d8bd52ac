import CurlTransport
import DownloadModel
import FileReceiving
import RunDoors
import Synchronization
import SystemPackage

/// A list at a URL (`--list`), read while it arrives into an unnamed file, because reading may take hours. A transfer
/// that breaks off starts again, and must receive the same bytes.
final class ListAtAddress: Sendable {
  /// Created by `Wiring`, so that lists are downloaded like files.
  struct Fetching {
    var transport: TransportOptions
    var folder: String
    /// The pause before the next attempt; `nil` to give up.
    var delay: @Sendable (_ after: DownloadError, _ failures: Int, _ elapsed: Duration) -> Duration?
    var failure: @Sendable (ResponseHead) -> DownloadError
    /// In bytes: a limit for the bytes received, and for the decoded text.
    var maxSize: Int64
    /// Why none may be downloaded (`--offline`).
    var refusal: DownloadError?
    /// The version that was read last, so that the server sends only another one; `nil` to request it in any case.
    var version: Version?
    /// Called before each attempt, and with its failure before the following pause.
    var onWait: @Sendable (Address, (failure: DownloadError, pause: Duration)?) -> Void = { _, _ in }
    /// For a further page: whether another origin than the list's own serves it.
    var provenance = Provenance.user

    func check(_ length: Int64) throws(DownloadError) {
      if length > maxSize {
        throw DownloadError(
          .tooLarge, cause: .detail("a list of more than \(maxSize) bytes"), activity: "reading the list")
      }
    }
  }

  let bytes: ArrivingBytes
  private let fetching: Task<Void, Never>

  /// - Throws: if the temporary folder cannot be written, or no server may be contacted.
  init(_ address: Address, _ how: Fetching) throws(DownloadError) {
    if let refusal = how.refusal { throw refusal.at(address) }
    let bytes = try ArrivingBytes(address, how)
    self.bytes = bytes
    // Unstructured, because it continues between two reads; the list cancels it.
    fetching = Task { await Self.fetch(address, how, into: bytes) }
  }

  /// For a part of a list. As after a redirect, the user's data goes only to the origin of the list.
  convenience init(_ address: Address, of home: Address, _ how: Fetching) throws(DownloadError) {
    var how = how
    how.version = nil
    how.provenance = address.isSameOrigin(as: home) ? .user : .thirdParty
    try self.init(address, how)
  }

  deinit { fetching.cancel() }

  private static func fetch(_ address: Address, _ how: Fetching, into arriving: ArrivingBytes) async {
    let start = ContinuousClock.now
    let request = TransferRequest(
      address: address, headerLines: how.version?.conditions ?? [], provenance: how.provenance)
    var failures = 0
    var end: Result<Void, DownloadError>?
    do {
      let transport = try CurlTransport(how.transport)
      while end == nil {
        how.onWait(address, nil)
        do {
          _ = try await transport.fetch(request, into: arriving)
          try arriving.finish()
          end = .success(())
        } catch {
          failures += 1
          let delay = how.delay(error, failures, ContinuousClock.now - start)
          if let delay { how.onWait(address, (error, delay)) } else { end = .failure(error.at(address)) }
          try? await Task.sleep(for: delay ?? .zero)  // cancelled: the next attempt notices
        }
      }
      await transport.shutdown()
    } catch {
      end = .failure(error)
    }
    arriving.end(end)
  }

  /// The validators of the list at a URL that was read last.
  final class Version: Sendable {
    private let state = Lock((read: [String](), arriving: [String]()))

    /// Header lines that request the list only if its version differs (RFC 9110 §13.1).
    var conditions: [String] { state.withLock { $0.read } }

    fileprivate func note(_ head: ResponseHead) {
      state.withLock { $0.arriving = [Validator(head).condition].compactMap(\.self) }
    }

    /// The list has pages, and each page may change.
    func forget() { state.withLock { $0.arriving = [] } }

    func isRead() { state.withLock { $0.read = $0.arriving } }
  }
}

extension ListAtAddress {
  /// The downloaded part of a list, shared by the thread that writes it and the one that reads it.
  final class ArrivingBytes: ByteSink {
    private let address: Address
    private let how: ListAtAddress.Fetching
    /// Readable if the state has changed since the last `read`.
    let pipe: WakePipe
    private let state: Lock<State>

    private struct State {
      let file: FileDescriptor
      var length: Int64 = 0
      /// Bytes of the current attempt.
      var position: Int64 = 0
      var end: Result<Void, DownloadError>?
      var base: Address
      var next: String?
    }

    init(_ address: Address, _ how: ListAtAddress.Fetching) throws(DownloadError) {
      self.address = address
      self.how = how
      do {
        pipe = try WakePipe()
        let file = try TemporaryFolder.unnamedFile(in: how.folder, "list")
        state = Lock(State(file: file, base: address))
      } catch {
        throw DownloadError(ofFile: error, path: how.folder, activity: "making room for the list")
      }
    }

    deinit { state.withLock { try? $0.file.close() } }  // no longer read

    // MARK: For the transfer

    func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
      guard head.isWhole else { throw how.failure(head) }
      try how.check(head.contentLength ?? 0)
      how.version?.note(head)
      // A redirect within the origin keeps the login of the URL.
      let place = head.effectiveURL.flatMap { AddressReference.resolve($0, against: address) }
      state.withLock {
        $0.base = place ?? $0.base
        $0.next = head.next
        $0.position = 0
      }
      return .write
    }

    /// Bytes that an earlier attempt received must be equal.
    func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
      do {
        try state.withLock { state in
          var bytes = bytes
          let end = state.position + Int64(bytes.count)
          try how.check(end)
          if state.position < state.length {
            let count = min(bytes.count, Int(state.length - state.position))
            guard try Self.read(state.file, at: state.position, count).elementsEqual(bytes.prefix(count)) else {
              throw Self.changed
            }
            bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
          }
          state.length += Int64(try state.file.writeAll(toAbsoluteOffset: state.length, bytes))
          state.position = end
        }
      } catch {
        throw DownloadError(ofFile: error, activity: "keeping the list")
      }
      pipe.wake()
      return .more
    }

    /// - Throws: if an earlier attempt received more than this one, which has ended.
    fileprivate func finish() throws(DownloadError) {
      if state.withLock({ $0.position < $0.length }) { throw Self.changed }
    }

    private static var changed: DownloadError {
      DownloadError(.range, cause: .detail("it has changed since it broke off"), activity: "reading the list")
    }

    fileprivate func end(_ result: Result<Void, DownloadError>?) {
      state.withLock { $0.end = result }
      pipe.wake()
    }

    // MARK: For the reader

    /// The URL where it was found; its lines are relative to it.
    var base: Address { state.withLock { $0.base } }

    /// Its next page, according to its server.
    var next: String? { state.withLock { $0.next } }

    /// - Returns: `nil` for a text that is not a usable URL.
    func page(at text: String) -> Address? { AddressReference.resolve(text, against: base) }

    func isReadable(at offset: Int64) -> Bool { state.withLock { offset < $0.length || $0.end != nil } }

    /// - Returns: empty at the end; `nil` while no byte is available: the pipe becomes readable with a byte or the end.
    /// - Throws: the failure of the transfer, once all received bytes have been read; a failure of the disk.
    func read(at offset: Int64, _ count: Int) throws(DownloadError) -> [UInt8]? {
      // Before the check, so that later changes wake the reader again.
      pipe.drain()
      do {
        return try state.withLock { state -> [UInt8]? in
          if offset < state.length { return try Self.read(state.file, at: offset, count) }
          guard let end = state.end else { return nil }
          try end.get()
          return []
        }
      } catch {
        throw DownloadError(ofFile: error, activity: "reading the list")
      }
    }

    private static func read(_ file: FileDescriptor, at offset: Int64, _ count: Int) throws -> [UInt8] {
      try [UInt8](unsafeUninitializedCapacity: count) { buffer, count in
        count = try file.read(fromAbsoluteOffset: offset, into: UnsafeMutableRawBufferPointer(buffer))
      }
    }
  }
}
