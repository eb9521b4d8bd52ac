import FlyingFox
import FlyingSocks

/// A small HTTP/1.1 origin on the loopback interface, with the latency and the bandwidth of a distant one:
/// for `dlm demo` and for tests.
///
/// It serves GET and HEAD with byte ranges (RFC 9110 §14), strong entity tags, 304 and If-Range, over
/// connections that stay open. It writes no log.
public actor DemoOrigin {
  public nonisolated let catalogue: DemoCatalogue
  private let responder: DemoResponder
  private let port: UInt16
  private var running: Running?

  private struct Running {
    let serving: Task<Void, any Error>
    /// nil until the socket listens.
    var port: UInt16?
  }

  /// - Parameters:
  ///   - latency: time from a request to the first byte of its answer.
  ///   - bytesPerSecondPerConnection: how fast a body goes out on one connection; nil for no limit.
  ///   - loss: the part of all packets that is lost, from 0 to 1; each costs its body the latency once more.
  ///   - workers: how many requests are answered at a time; nil for any number.
  ///   - port: 0 for any that is free.
  public init(
    catalogue: DemoCatalogue = .standard, latency: Duration = .milliseconds(40),
    bytesPerSecondPerConnection: Int? = 4_000_000, loss: Double = 0, workers: Int? = nil, port: UInt16 = 0
  ) {
    self.port = port
    self.catalogue = catalogue
    responder = DemoResponder(
      files: Dictionary(catalogue.files.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first }),
      latency: latency,
      schedule: PacingSchedule(bytesPerSecond: bytesPerSecondPerConnection, loss: loss, roundTrip: latency),
      workers: workers.map(WorkerPool.init))
  }

  /// Listens on 127.0.0.1 and serves until `stop()`.
  /// - Returns: the port, open for connections.
  @discardableResult
  public func start() async throws(DemoOriginError) -> UInt16 {
    guard running == nil else { throw .alreadyRunning }
    let server: HTTPServer
    do {
      server = try makeServer()
    } catch {
      throw .cannotListen(String(describing: error))
    }
    // Unstructured, both: the origin outlives the call that starts it. `stop()` cancels and awaits the one;
    // the other ends with the first line after it, and at once when the server fails.
    let listening = Task { try await server.waitUntilListening() }
    let serving = Task {
      defer { listening.cancel() }
      try await server.run()
    }
    running = Running(serving: serving)
    _ = await listening.result
    // The actor was left: by now `stop()` may have ended this server, and another `start()` begun the next.
    guard case .ip4(_, let port) = await server.listeningAddress, running?.serving == serving else {
      serving.cancel()
      let reason = await serving.result
      forget(serving)
      throw .cannotListen(String(describing: reason))
    }
    running?.port = port
    return port
  }

  /// Closes the socket and every connection, whatever they are doing, and returns when no task is left.
  public func stop() async {
    guard let serving = running?.serving else { return }
    serving.cancel()
    // Ends with CancellationError, because it was cancelled.
    _ = await serving.result
    forget(serving)
  }

  /// Runs `body` with the addresses of the files, and stops the origin however `body` ends.
  public nonisolated func serving<Value: Sendable>(
    _ body: @Sendable (_ addresses: [String]) async throws -> Value
  ) async throws -> Value {
    try await start()
    do {
      let value = try await body(addresses)
      await stop()
      return value
    } catch {
      await stop()
      throw error
    }
  }

  /// Every file's address, in the catalogue's order; none while the origin does not run.
  public var addresses: [String] {
    guard let port = running?.port else { return [] }
    return catalogue.files.map { "http://127.0.0.1:\(port)\($0.path)" }
  }

  private func forget(_ serving: Task<Void, any Error>) {
    if running?.serving == serving { running = nil }
  }

  private func makeServer() throws -> HTTPServer {
    // The library gives up on a handler after its timeout; the latency is no reason to.
    // (Its pool in turn leaves one descriptor, an eventfd, open for every server that ran.)
    let timeout = 15 + responder.latency / .seconds(1)
    return HTTPServer(
      address: try .inet(ip4: "127.0.0.1", port: port), timeout: timeout,
      pool: PromptSocketPool(base: HTTPServer.defaultPool()), logger: .disabled, handler: responder)
  }
}

/// Why an origin does not run.
public enum DemoOriginError: Error, Equatable, Sendable {
  /// `start()` was called on an origin that runs.
  case alreadyRunning
  /// No socket on the loopback interface could be had; the system's reason.
  case cannotListen(String)
}
