package import DownloadModel
import Foundation

/// An HTTP/1.1 origin on 127.0.0.1 that does to each request what the test has scripted, and writes down what
/// it saw. Up to some 600 connections, a thread each.
///
///     let origin = try FaultyOrigin()
///     defer { origin.stop() }
///     origin.route("/file", .file(bytes, FileOptions(ending: .close(after: 1000))), .file(bytes))
///
/// The `defer` also keeps it alive to the end of the test.
package final class FaultyOrigin: Sendable {
  package let port: UInt16
  private let listener: LoopbackSocket
  private let core = OriginCore()

  /// Listens and serves from now on.
  /// - Parameters:
  ///   - number: the last of the address: 2 for 127.0.0.2.
  ///   - port: 0 lets the system choose.
  /// - Throws: when no socket can be had.
  package init(at number: UInt32 = 1, port: UInt16 = 0) throws(SupportFailure) {
    (listener, self.port) = try LoopbackSocket.bound(to: port, at: number)
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

  package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  package func address(_ path: String) throws(Address.Malformed) -> Address { try Address(url(path)) }

  /// Scripts a path: an answer a request, the last one for ever after. Replaces what was scripted before.
  /// - Parameter path: with its query, or without: then it answers for any query.
  package func route(_ path: String, _ answers: OriginAnswer...) { core.route(path, answers) }

  package func route(_ path: String, script: [OriginAnswer]) { core.route(path, script) }

  /// Cuts every connection and waits for every thread. May be called again; `deinit` does.
  package func stop() { core.stop(listener) }

  package var record: OriginRecord { core.record }

  package var log: [Seen] { record.log }

  /// Suspends until `count` requests have arrived, in all or at one path.
  /// - Throws: after a long safety limit, or when the task is cancelled.
  package func wait(forRequests count: Int, path: String? = nil) async throws(SupportFailure) {
    try await wait(for: "\(count) requests\(path.map { " to \($0)" } ?? "")") { record in
      (path.map { record.requests(to: $0) } ?? record.log).count >= count
    }
  }

  /// Suspends until so many body bytes of a path have been given to the kernel.
  package func wait(path: String, bodyBytesSent count: Int) async throws(SupportFailure) {
    try await wait(for: "\(count) body bytes of \(path)") { $0.bodyBytesSent[path, default: 0] >= count }
  }

  /// Suspends until the record is as wanted, such as `{ $0.inFlight == 4 }` or `{ $0.connectionsOpen == 0 }`.
  /// - Parameter what: said when it never becomes so.
  package func wait(
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

/// A request as it reached `FaultyOrigin`.
package struct Seen: Sendable, Equatable {
  package let method: String
  /// As sent, with its query.
  package let path: String
  /// Lower-cased names; equal names joined with ", ".
  package let headers: [String: String]
  /// From 1, in the order in which connections were opened.
  package let connection: Int
}

/// What has happened at an origin so far.
package struct OriginRecord: Sendable, Equatable {
  /// Every request whose head arrived, in order.
  package var log: [Seen] = []
  /// Body bytes given to the kernel, per path as sent. What the client has received may be less.
  package var bodyBytesSent: [String: Int] = [:]
  package var connectionsOpened = 0
  /// Connections that neither side has closed, as far as the origin has noticed.
  package var connectionsOpen = 0
  /// Requests under way: from the arrival of the head until just before the last byte of the answer goes out.
  package var inFlight = 0
  /// Never too high: a client with N requests at a time never shows more than N here.
  package var greatestInFlight = 0

  package func requests(to path: String) -> [Seen] { log.filter { $0.path == path } }
}

/// What the threads of one origin share. `FaultyOrigin` owns it; the threads keep it alive, never the origin.
final class OriginCore: Sendable {
  private struct Script {
    var answers: [OriginAnswer]
    var used = 0
  }

  private struct State {
    var scripts: [String: Script] = [:]
    var record = OriginRecord()
    var connections: [Int: LoopbackSocket] = [:]
    var isStopping = false
    /// Threads that have not come to their end.
    var threads = 0
  }

  private let monitor = Monitor(State())

  var record: OriginRecord { monitor.withState { $0.record } }

  func route(_ path: String, _ answers: [OriginAnswer]) {
    monitor.withState { $0.scripts[path] = Script(answers: answers) }
  }

  func wait(for what: String, until isMet: @escaping @Sendable (OriginRecord) -> Bool)
    async throws(SupportFailure)
  {
    try await monitor.wait(for: what) { isMet($0.record) }
  }

  // MARK: Threads

  func listens() { monitor.withState { $0.threads += 1 } }

  /// A connection and its thread are counted in one step, so that `stop` sees both or neither.
  /// - Returns: the connection's number; nil when the origin is stopping.
  func opened(_ socket: LoopbackSocket) -> Int? {
    monitor.withState { state in
      if state.isStopping { return nil }
      state.threads += 1
      state.record.connectionsOpened += 1
      state.record.connectionsOpen += 1
      state.connections[state.record.connectionsOpened] = socket
      return state.record.connectionsOpened
    }
  }

  func threadEnds() { monitor.withState { $0.threads -= 1 } }

  /// Wakes every blocked thread and waits for all of them to end.
  func stop(_ listener: LoopbackSocket) {
    monitor.withState { state in
      state.isStopping = true
      for socket in state.connections.values { socket.shutDown() }
      listener.shutDown()
    }
    _ = monitor.block { $0.threads == 0 }
  }

  // MARK: Connections

  /// Before the descriptor is closed: `stop` must not shut down a number that means another file by then.
  func willClose(_ number: Int) { monitor.withState { $0.connections[number] = nil } }

  func closed() { monitor.withState { $0.record.connectionsOpen -= 1 } }

  // MARK: Requests

  func begin(_ request: OriginRequest, on connection: Int) -> OriginAnswer {
    monitor.withState { state in
      state.record.log.append(
        Seen(
          method: request.method, path: request.target, headers: request.headers, connection: connection))
      state.record.inFlight += 1
      state.record.greatestInFlight = max(state.record.greatestInFlight, state.record.inFlight)
      guard let path = request.routes.first(where: { state.scripts[$0] != nil }),
        let script = state.scripts[path],
        let answer = script.answers.dropFirst(script.used).first ?? script.answers.last
      else { return .status(404, body: Array("no such route\n".utf8)) }
      state.scripts[path]?.used += 1
      return answer
    }
  }

  func settled() { monitor.withState { $0.record.inFlight -= 1 } }

  func sent(_ count: Int, of request: OriginRequest) {
    monitor.withState { $0.record.bodyBytesSent[request.target, default: 0] += count }
  }
}
