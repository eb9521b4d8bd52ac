import CCurl
import DownloadModel
import Glibc
import TestSupport
import Testing

@testable import CurlTransport

/// libcurl closes a connection that never came up without a word, and the kernel gives its number to others.
@Suite("Which connections are open to a host, by descriptor, and which are idle")
struct OpenConnectionsTests {
  /// Two sockets that are connected to each other, so that neither has anything to read.
  private static func pair() -> (Int32, Int32) {
    var pair: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    return (pair[0], pair[1])
  }

  /// The idle connections to "a", and how many there are to any host.
  private static func look(_ poll: inout EventPoll) -> ([Int32], Int) {
    (poll.idleConnections(to: "a"), poll.connectionCount)
  }

  @Test func openedAndForgotten() throws {
    var poll = try EventPoll()
    let (one, other) = Self.pair()
    defer { close(other) }
    poll.connected(one, to: "a")
    poll.connected(other, to: "b")
    let isForgotten = poll.forgetIfClosed(one)
    let before = Self.look(&poll)
    #expect(!isForgotten && before == ([one], 2))
    poll.forget(one)
    close(one)
    let after = Self.look(&poll)
    #expect(after == ([], 1))
  }

  /// Idle is one that no transfer uses, with nothing to read: neither a byte nor the other side's end.
  @Test func idleOrNot() throws {
    var poll = try EventPoll()
    let (one, other) = Self.pair()
    defer { close(one) }
    poll.connected(one, to: "a")
    poll.setInterest(one, CURL_POLL_IN)
    let inUse = Self.look(&poll)
    poll.setInterest(one, CURL_POLL_REMOVE)
    let idle = Self.look(&poll)
    close(other)
    let ended = Self.look(&poll)
    #expect(inUse == ([], 1) && idle == ([one], 1) && ended == ([], 1))
    for _ in 0..<2 { poll.giveUp(one) }
    let givenUp = Self.look(&poll)
    #expect(givenUp == ([], 0))
  }

  @Test func closedWithoutAWord() throws {
    var poll = try EventPoll()
    let (socket, other) = Self.pair()
    defer { close(other) }
    poll.connected(socket, to: "a")
    close(socket)
    for isFirst in [true, false] {
      let isForgotten = poll.forgetIfClosed(socket)
      let found = Self.look(&poll)
      #expect(isForgotten == isFirst && found == ([], 0))
    }
  }

  /// Of another loop, or a file.
  @Test func itsNumberIsAnothers() throws {
    var poll = try EventPoll()
    let (number, other) = Self.pair()
    defer {
      close(number)
      close(other)
    }
    poll.connected(number, to: "a")
    // Closes it and gives its number to the other at once, so no other test can take it between.
    #expect(dup2(other, number) == number)
    let found = Self.look(&poll)
    #expect(found == ([], 0))
  }

  /// The story: threeAtTheDoor of FewWorkersTests took 26 s, and up to 70 elsewhere.
  @Test func aConnectionThatNeverCameUp() async throws {
    let full = try FullPort()
    let address = try Address("http://127.0.0.1:\(full.port)/")
    try await withTransport { transport, _ in
      for _ in 0..<3 {
        let task = Task { try await transport.fetch(address) }
        while await transport.agent.connectionCount == 0 { await Task.yield() }
        task.cancel()
        #expect(await #expect(throws: DownloadError.self) { _ = try await task.value }?.code == .cancelled)
        #expect(await transport.agent.connectionCount == 0)
      }
    }
  }
}
