import DownloadModel
import FileReceiving
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// The HTTP server: one request a connection, each in a task of its own.
struct PageServer: Sendable {
  private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>
  private typealias Writer = NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>

  private let gate: Gate
  private let site: Site
  private let guessing = Guessing()

  private let connections = Connections()

  private final class Connections: Sendable {
    private let count = Atomic(0)
    private static let most = 256

    /// - Returns: false if there are too many.
    func enter() -> Bool { count.wrappingAdd(1, ordering: .relaxed).oldValue < Self.most }

    func leave() { count.wrappingSubtract(1, ordering: .relaxed) }
  }

  /// The most bytes of a request's body.
  private static let longestBody = 8 << 20
  /// For the head of a request, and for its body: silent connections must not keep out others.
  private static let longestHead = TimeAmount.seconds(5)
  private static let longestRead = TimeAmount.seconds(30)

  /// Why `run` has failed, in the system's words.
  static func cause(of error: any Error) -> String {
    (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
  }

  /// Serves until the task is cancelled.
  /// - Parameters:
  ///   - port: 0 for a free one.
  ///   - make: gets the port.
  /// - Throws: if the port cannot be opened.
  static func run(on port: UInt16, _ make: @Sendable (Int) -> (Gate, Site)) async throws {
    let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .bind(host: "127.0.0.1", port: Int(port)) { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          return try Connection(wrappingChannelSynchronously: channel)
        }
      }
    let (gate, site) = make(listener.channel.localAddress?.port ?? Int(port))
    let server = PageServer(gate: gate, site: site)
    try await listener.executeThenClose { connections in
      try await withThrowingDiscardingTaskGroup { group in
        for try await connection in connections {
          group.addTask {
            if !server.connections.enter() { connection.channel.close(promise: nil) }
            // A client that goes away ends only its own request.
            try? await server.serve(connection)
            server.connections.leave()
          }
        }
      }
    }
  }

  private func serve(_ connection: Connection) async throws {
    let channel = connection.channel
    let ofHead = channel.eventLoop.scheduleTask(in: Self.longestHead) { channel.close(promise: nil) }
    let ofBody = channel.eventLoop.scheduleTask(in: Self.longestRead) { channel.close(promise: nil) }
    defer {
      ofHead.cancel()
      ofBody.cancel()
    }
    try await connection.executeThenClose { inbound, outbound in
      var parts = inbound.makeAsyncIterator()
      guard case .head(let head)? = try await parts.next() else { return }
      ofHead.cancel()
      let url = PageRequest.Target(head.uri)
      switch gate.verdict(Gate.Head(head, path: url.path)) {
      case .refuse(let status, let why): try await send(PageAnswer(error: why, status: status), to: outbound)
      case .wrongToken:
        await guessing.wait()
        let answer = PageAnswer(error: "wrong token: open the link that dlm serve prints now", status: 401)
        try await send(answer, to: outbound)
      case .preflight(let origin): try await send(PageAnswer(preflightFor: origin), to: outbound)
      case .answer(let origin):
        var body: [UInt8] = []
        while case .body(let buffer)? = try await parts.next() {
          body += buffer.readableBytesView
          guard body.count <= Self.longestBody else {
            return try await send(PageAnswer(error: "more than 8 MiB", status: 413), to: outbound)
          }
        }
        ofBody.cancel()
        let request = PageRequest(method: head.method.rawValue, target: url, body: body)
        var answer: PageAnswer
        do throws(Refused) { answer = try await site.answer(request, guessing) } catch {
          answer = PageAnswer(error: error.why, status: error.status)
        }
        if let origin { answer.headers["Access-Control-Allow-Origin"] = origin }
        try await send(answer, to: outbound)
      }
    }
  }

  private func send(_ answer: PageAnswer, to outbound: Writer) async throws {
    var headers = HTTPHeaders(answer.headers.map { ($0.key, $0.value) })
    headers.add(name: "Connection", value: "close")
    if case .whole(let bytes) = answer.body { headers.add(name: "Content-Length", value: "\(bytes.count)") }
    let status = HTTPResponseStatus(statusCode: Int(answer.status))
    try await outbound.write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
    switch answer.body {
    case .whole(let bytes): try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: bytes))))
    case .lines(let source):
      try await source { line in try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: line + [.newline])))) }
    }
    try await outbound.write(.end(nil))
  }
}

extension Gate.Head {
  init(_ head: HTTPRequestHead, path: String) {
    self.init(
      method: head.method.rawValue, path: path, hosts: head.headers["host"], origin: head.headers.first(name: "origin"),
      authorization: head.headers.first(name: "authorization"))
  }
}
