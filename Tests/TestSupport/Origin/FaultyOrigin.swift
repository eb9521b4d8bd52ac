public import DownloadModel
import Foundation

/// An HTTP/1.1 origin on 127.0.0.1 that does to each request what the test has scripted, and writes down what
/// it saw. Up to some 600 connections, a thread each.
///
///     let origin = try FaultyOrigin()
///     defer { origin.stop() }
///     origin.route("/file", .file(bytes, FileOptions(ending: .close(after: 1000))), .file(bytes))
///
/// The `defer` also keeps it alive to the end of the test.
public final class FaultyOrigin: Sendable {
  public let port: UInt16
  private let listener: LoopbackSocket
  private let core = OriginCore()

  /// Listens and serves from now on.
  /// - Throws: when no socket can be had.
  public init() throws(SupportFailure) {
    (listener, port) = try LoopbackSocket.bound()
    // Throwing here runs deinit, as every property is set: it closes the listener.
    try listener.listen()
    core.listens()
    Self.startThread(core) { [core, listener] in
      while let socket = listener.accept() { Self.serve(socket, core) }
    }
  }

  deinit {
    stop()
    listener.close()
  }

  public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  public func address(_ path: String) throws(Address.Malformed) -> Address { try Address(url(path)) }

  /// Scripts a path: an answer a request, the last one for ever after. Replaces what was scripted before.
  /// - Parameter path: with its query, or without: then it answers for any query.
  public func route(_ path: String, _ answers: OriginAnswer...) { core.route(path, answers) }

  public func route(_ path: String, script: [OriginAnswer]) { core.route(path, script) }

  /// Cuts every connection and waits for every thread. May be called again; `deinit` does.
  public func stop() { core.stop(listener) }

  public var record: OriginRecord { core.record }

  public var log: [Seen] { record.log }

  /// Suspends until `count` requests have arrived, in all or at one path.
  /// - Throws: after a long safety limit, or when the task is cancelled.
  public func wait(forRequests count: Int, path: String? = nil) async throws(SupportFailure) {
    try await wait(for: "\(count) requests\(path.map { " to \($0)" } ?? "")") { record in
      (path.map { record.requests(to: $0) } ?? record.log).count >= count
    }
  }

  /// Suspends until so many body bytes of a path have been given to the kernel.
  public func wait(path: String, bodyBytesSent count: Int) async throws(SupportFailure) {
    try await wait(for: "\(count) body bytes of \(path)") { $0.bodyBytesSent[path, default: 0] >= count }
  }

  /// Suspends until the record is as wanted, such as `{ $0.inFlight == 4 }` or `{ $0.connectionsOpen == 0 }`.
  /// - Parameter what: said when it never becomes so.
  public func wait(
    for what: String, until isMet: @escaping @Sendable (OriginRecord) -> Bool
  ) async throws(SupportFailure) {
    try await core.wait(for: what, until: isMet)
  }

  private static func serve(_ socket: LoopbackSocket, _ core: OriginCore) {
    guard let number = core.opened(socket) else { return socket.close() }
    startThread(core) { OriginConnection(core: core, socket: socket, number: number).serve() }
  }

  /// The thread is counted already.
  private static func startThread(_ core: OriginCore, _ work: @escaping @Sendable () -> Void) {
    let thread = Thread {
      work()
      core.threadEnds()
    }
    // A thread serves with a few buffers; the system's default of 8 MB times 600 is a lot of address space.
    thread.stackSize = 1 << 20
    thread.start()
  }
}
