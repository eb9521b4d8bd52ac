import Dispatch

/// A small HTTP/1.1 origin on the loopback interface with the latency and bandwidth of a distant one, for `dlm demo`
/// and for tests: GET and HEAD, byte ranges (RFC 9110 §14), strong entity tags, 304 and If-Range. It writes no log.
package actor DemoOrigin {
  private let files: [DemoFile]
  private let conduct: DemoServer.Conduct
  private let port: UInt16
  /// A thread of its own, because the server blocks in poll.
  private let queue = DispatchQueue(label: "dlm.demo-origin")
  private var server: DemoServer?

  /// - Parameters:
  ///   - latency: time from a request to the first byte of its answer.
  ///   - bytesPerSecondPerConnection: the rate of a body on one connection, at least 1; `nil` for no limit.
  ///   - loss: the fraction of packets that are lost, from 0 to 1; each delays its body by the latency.
  ///   - workers: how many requests are answered at a time, at least one; `nil` for no limit.
  ///   - port: 0 for any free port.
  package init(
    files: [DemoFile], latency: Duration, bytesPerSecondPerConnection: Int?, loss: Double = 0, workers: Int? = nil,
    port: UInt16 = 0
  ) {
    self.port = port
    self.files = files
    conduct = DemoServer.Conduct(
      files: Dictionary(files.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first }),
      latency: latency,
      schedule: DemoServer.PacingSchedule(bytesPerSecond: bytesPerSecondPerConnection, loss: loss, roundTrip: latency),
      workers: workers)
  }

  /// Listens on 127.0.0.1 until `stop()`.
  /// - Returns: the port, open for connections.
  @discardableResult
  package func start() throws(Failure) -> UInt16 {
    if let server { return server.port }
    let server = try DemoServer(port: port, conduct)
    queue.async { server.run() }
    self.server = server
    return server.port
  }

  /// Closes every connection, whatever it is doing, and returns when no request is served.
  package func stop() async {
    guard let server else { return }
    server.stop()
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    if self.server === server { self.server = nil }
  }

  /// Runs `body` with the URLs of the files, and stops the origin however `body` ends.
  package nonisolated func serving<Value: Sendable>(
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

  /// The URL of every file, in their order; empty while the origin is stopped.
  package var addresses: [String] {
    guard let server else { return [] }
    return files.map { "http://127.0.0.1:\(server.port)\($0.path)" }
  }

  /// Why an origin cannot start.
  package enum Failure: Error, Equatable, Sendable {
    /// No socket on the loopback interface is available; with the system's reason.
    case cannotListen(String)
  }
}
