import DownloadModel
import Glibc
import TestSupport
import Testing

@testable import CurlTransport

/// libcurl closes a connection that never came up without a word, and the kernel gives its number to others.
@Suite("What is open to a host, by descriptor")
struct OpenConnectionsTests {
  private static func socket() -> Int32 { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }

  @Test func openedAndClosed() throws {
    var connections = OpenConnections()
    let (one, other) = (Self.socket(), Self.socket())
    defer { close(other) }
    connections.opened(one, to: "a")
    connections.opened(other, to: "b")
    #expect(connections.count == 2)
    #expect(connections.sockets(to: "a") == [one])
    let isGone = connections.forgetIfClosed(one)
    #expect(!isGone)
    connections.closed(one)
    close(one)
    #expect(connections.count == 1)
    #expect(connections.sockets(to: "a") == [])
    #expect(connections.sockets(to: "b") == [other])
  }

  @Test func closedWithoutAWord() {
    var connections = OpenConnections()
    let socket = Self.socket()
    connections.opened(socket, to: "a")
    close(socket)
    for isFirst in [true, false] {
      let isForgotten = connections.forgetIfClosed(socket)
      #expect(isForgotten == isFirst)
      #expect(connections.count == 0)
    }
  }

  /// Of another loop, or a file.
  @Test func itsNumberIsAnothers() {
    var connections = OpenConnections()
    let (number, other) = (Self.socket(), Self.socket())
    defer {
      close(number)
      close(other)
    }
    connections.opened(number, to: "a")
    // Closes it and gives its number to the other at once, so no other test can take it between.
    #expect(dup2(other, number) == number)
    let isForgotten = connections.forgetIfClosed(number)
    #expect(isForgotten)
    #expect(connections.sockets(to: "a") == [])
  }

  /// The story: threeAtTheDoor of FewWorkersTests took 26 s, and up to 70 elsewhere.
  @Test func aConnectionThatNeverCameUp() async throws {
    let full = try FullPort()
    let address = try Address("http://127.0.0.1:\(full.port)/")
    try await withTransport { transport, _ in
      for _ in 0..<3 {
        let task = Task { try await transport.fetch(address) }
        while await transport.connectionCount == 0 { await Task.yield() }
        task.cancel()
        #expect(await #expect(throws: DownloadError.self) { _ = try await task.value }?.code == .cancelled)
        #expect(await transport.connectionCount == 0)
      }
    }
  }
}
