import CurlTransport
import DownloadCaching
import DownloadModel
import DownloadScheduling
import Foundation
import Glibc
import Synchronization
import SystemPackage

/// A list at an address (`--list`), read while it arrives.
///
/// What has come is kept in a file without a name until it is read: a list is read as requests are wanted, for hours
/// perhaps, and no server waits so long. A transfer that breaks off is begun again, and must bring the same bytes.
final class ListAtAddress: Sendable {
  /// How lists are asked for: as files are.
  struct Asking: Sendable {
    var transport: TransportOptions
    var retry: RetryPolicy
    /// Where what has not been read yet is kept.
    var folder: String

    init(_ settings: Settings, environment: [String: String]) {
      transport = settings.transport
      transport.width = 1
      retry = settings.retry
      folder = environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
    }
  }

  enum Reading {
    case bytes([UInt8])
    /// Whatever comes next is not here yet; the list's descriptor becomes readable with it.
    case wait
    /// All was read.
    case end
  }

  private let arriving: ArrivingBytes
  private let fetching: Task<Void, Never>

  /// Begins to fetch it.
  /// - Throws: when the temporary folder cannot be written.
  init(_ address: Address, _ asking: Asking) throws(DownloadError) {
    let arriving = try ArrivingBytes(address, folder: asking.folder)
    self.arriving = arriving
    // Nobody's child: it goes on between two reads, when nobody waits for it. It ends with the list that holds it.
    fetching = Task { await Self.fetch(address, asking, into: arriving) }
  }

  deinit { fetching.cancel() }

  /// Readable when something has happened since the last look.
  var descriptor: Int32 { arriving.descriptor }

  /// What its lines are relative to: where it was found at last.
  var base: Address { arriving.base }

  /// Whether something is here behind an offset, or the end.
  func isReadable(at offset: Int64) -> Bool { arriving.isReadable(at: offset) }

  /// - Throws: what ended the transfer, when all that it brought has been read.
  func read(at offset: Int64, _ count: Int) throws(DownloadError) -> Reading {
    try arriving.read(at: offset, count)
  }

  private static func fetch(_ address: Address, _ asking: Asking, into arriving: ArrivingBytes) async {
    do throws(DownloadError) {
      let transport = try CurlTransport(asking.transport)
      let result = await fetch(address, asking.retry, transport, into: arriving)
      await transport.shutdown()
      arriving.end(result)
    } catch {
      arriving.end(.failure(error))
    }
  }

  private static func fetch(
    _ address: Address, _ retry: RetryPolicy, _ transport: CurlTransport, into arriving: ArrivingBytes
  ) async -> Result<Void, DownloadError> {
    var failures = 0
    let start = ContinuousClock.now
    while true {
      let sink = ArrivingSink(arriving)
      do throws(DownloadError) {
        _ = try await transport.fetch(TransferRequest(address: address), into: sink)
        try sink.finish()
        return .success(())
      } catch {
        failures += 1
        let delay = retry.delay(
          after: error, failures: failures, elapsed: start.duration(to: .now), random: .random(in: 0..<1))
        guard let delay else { return .failure(error.at(address)) }
        try? await Task.sleep(for: delay)  // cancelled: the next attempt sees that itself
      }
    }
  }
}

/// What has come of a list, between the thread that brings it and the one that reads it.
private final class ArrivingBytes: Sendable {
  let address: Address
  /// A pipe's, with a byte in it for what has happened.
  let descriptor: Int32
  private let wakeEnd: Int32
  private let state: Mutex<State>

  private struct State {
    let file: FileDescriptor
    var length: Int64 = 0
    var end: Result<Void, DownloadError>?
    var base: Address
  }

  init(_ address: Address, folder: String) throws(DownloadError) {
    self.address = address
    var ends: [Int32] = [-1, -1]
    var template = Array("\(folder)/dlm-list-XXXXXX".utf8CString)
    let file = mkstemp(&template)  // inherited by nobody: dlm starts no program
    guard file >= 0, pipe(&ends) == 0 else {
      let code = errno
      if file >= 0 { close(file) }
      throw DownloadError(.disk, cause: .errno(code), path: folder, activity: "making room for the list")
    }
    // It goes with the process, whatever ends that.
    _ = unlink(template)
    // A full pipe says enough, and an empty one is only looked at.
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    (descriptor, wakeEnd) = (ends[0], ends[1])
    state = Mutex(State(file: FileDescriptor(rawValue: file), base: address))
  }

  deinit {
    close(descriptor)
    close(wakeEnd)
    state.withLock { try? $0.file.close() }  // nobody will read it any more
  }

  var base: Address { state.withLock { $0.base } }
  var length: Int64 { state.withLock { $0.length } }

  func isReadable(at offset: Int64) -> Bool { state.withLock { offset < $0.length || $0.end != nil } }

  func answered(by address: String?) {
    // One that led elsewhere within the same origin keeps the login of the address.
    guard let address, let place = AddressReference.resolve(address, against: self.address) else { return }
    state.withLock { $0.base = place }
  }

  /// - Parameter offset: where the bytes stand in the list; what is there already must be the same.
  func put(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) {
    do {
      try state.withLock { state in
        var bytes = bytes
        if offset < state.length {
          let count = min(bytes.count, Int(state.length - offset))
          guard try Self.read(state.file, at: offset, count).elementsEqual(bytes.prefix(count)) else {
            throw Self.changed
          }
          bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
        }
        while !bytes.isEmpty {
          let count = try state.file.write(toAbsoluteOffset: state.length, bytes)
          state.length += Int64(count)
          bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
        }
      }
    } catch {
      throw Self.failure(error, "keeping the list")
    }
    wake()
  }

  static var changed: DownloadError {
    DownloadError(.range, cause: .detail("it has changed since it broke off"), activity: "reading the list")
  }

  func end(_ result: Result<Void, DownloadError>) {
    state.withLock { $0.end = result }
    wake()
  }

  func read(at offset: Int64, _ count: Int) throws(DownloadError) -> ListAtAddress.Reading {
    // Before the look: what happens after it is told again.
    drain()
    do {
      return try state.withLock { state in
        if offset < state.length { return .bytes(try Self.read(state.file, at: offset, count)) }
        guard let end = state.end else { return .wait }
        try end.get()
        return .end
      }
    } catch {
      throw Self.failure(error, "reading the list")
    }
  }

  private static func read(_ file: FileDescriptor, at offset: Int64, _ count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, count in
      count = try file.read(fromAbsoluteOffset: offset, into: UnsafeMutableRawBufferPointer(buffer))
    }
  }

  private static func failure(_ error: any Error, _ activity: String) -> DownloadError {
    if let error = error as? DownloadError { return error }
    return DownloadError(
      .disk, cause: .errno((error as? Errno)?.rawValue ?? EIO), activity: activity)
  }

  private func wake() {
    var byte: UInt8 = 1
    _ = write(wakeEnd, &byte, 1)
  }

  private func drain() {
    var bytes = [UInt8](repeating: 0, count: 512)
    while Glibc.read(descriptor, &bytes, bytes.count) > 0 {}
  }
}

/// One attempt's body on its way into the list.
private final class ArrivingSink: BodySink {
  private let arriving: ArrivingBytes
  private let position = Atomic<Int64>(0)

  init(_ arriving: ArrivingBytes) { self.arriving = arriving }

  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    guard head.status == 200 else { throw head.failure(now: Int64(Date().timeIntervalSince1970)) }
    arriving.answered(by: head.answeredBy)
    return .write
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) {
    let start = position.load(ordering: .relaxed)
    try arriving.put(bytes, at: start)
    position.store(start + Int64(bytes.count), ordering: .relaxed)
  }

  /// The body has come to its end.
  /// - Throws: if an earlier attempt brought more.
  func finish() throws(DownloadError) {
    if position.load(ordering: .relaxed) < arriving.length { throw ArrivingBytes.changed }
  }
}
