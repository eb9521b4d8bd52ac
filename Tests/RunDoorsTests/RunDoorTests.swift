import DownloadModel
import FileReceiving
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import RunDoors

@Suite("The door of a run: private, bounded, never in the way")
struct RunDoorTests {
  private let folder: TestSupport.TemporaryFolder
  private let records: FilePath

  init() throws {
    folder = try TestSupport.TemporaryFolder()
    records = FilePath(folder.path("records"))
    mkdir(records.string, 0o700)
  }

  /// A door that repeats each line, while `body` runs.
  private func atDoor(
    runtime: String? = nil, serve: (@Sendable (DoorVisitor) async -> Void)? = nil,
    _ body: @escaping @Sendable (RunDoor) async throws -> Void
  ) async throws {
    let door = try RunDoor(of: 1, in: records, runtime: runtime)
    async let serving: Void = door.run(
      serve ?? { visitor in while let line = await visitor.next() { visitor.send(["line": line]) } })
    let result: Result<Void, any Error>
    do { result = .success(try await body(door)) } catch { result = .failure(error) }
    door.close()
    await serving
    #expect(!FileManager.default.fileExists(atPath: door.path.string))
    try result.get()
  }

  private static func asked(_ connection: DoorConnection, _ text: String) async throws -> String? {
    try await offThePool {
      try connection.send(["x": text])
      return try connection.line(within: 120_000).map { String(decoding: $0, as: UTF8.self) }
    }
  }

  @Test func linesGoBothWays() async throws {
    try await atDoor { door in
      var status = stat()
      #expect(lstat(door.path.string, &status) == 0 && status.st_mode & 0o777 == 0o600)
      for number in 0..<3 {
        let connection = try DoorConnection(to: door.path)
        #expect(try await Self.asked(connection, "é\(number)")?.contains("é\(number)") == true)
      }
    }
  }

  @Test func whereItIs() async throws {
    let runtime = folder.path("run")
    mkdir(runtime, 0o700)
    // The runtime folder is removed at a logout.
    try await atDoor(runtime: runtime) { #expect($0.path.string == folder.path("records/1.sock")) }
    let far = records.appending(String(repeating: "x", count: 120))
    let near = try RunDoor(of: 1, in: far, runtime: runtime)
    #expect(near.path.string == "\(runtime)/dlm/1.sock")
    // Others could enter it.
    chmod(runtime, 0o755)
    #expect(try RunDoor(of: 1, in: far, runtime: "relative").path.string.hasPrefix("/tmp/dlm-"))
    let door = try RunDoor(of: 1, in: far, runtime: runtime)
    #expect(door.path.string.hasPrefix("/tmp/dlm-"))
    #expect(DoorPlace.isPrivate(door.path.removingLastComponent().string))
    async let serving: Void = door.run { _ in }
    door.close()
    await serving
    #expect(!FileManager.default.fileExists(atPath: door.path.removingLastComponent().string))
  }

  /// A line of any length from one visitor is nothing to the others, nor to the memory.
  @Test func linesWithoutAnEnd() async throws {
    try await atDoor { door in
      let good = try DoorConnection(to: door.path)
      let bad = try RawSocket(door.path.string)
      #expect(bad.write(Array(repeating: 0x61, count: 200)) == 200)
      #expect(try await Self.asked(good, "one")?.contains("one") == true)
      await offThePoolForSure {
        var sent = 0
        while sent < 1 << 26 {
          let count = bad.write(Array(repeating: 0x61, count: 1 << 16))
          if count <= 0 { break }
          sent += count
        }
        #expect(sent < 1 << 22, "it is closed, not read to its end")
      }
      #expect(try await Self.asked(good, "two")?.contains("two") == true)
    }
  }

  @Test func moreThanThirtyTwo() async throws {
    try await atDoor { door in
      var connections: [DoorConnection] = []
      for _ in 0..<32 {
        let connection = try DoorConnection(to: door.path)
        #expect(try await Self.asked(connection, "x") != nil)
        connections.append(connection)
      }
      let late = try DoorConnection(to: door.path)
      #expect(
        try await offThePool { try late.line(within: 120_000) }.map { String(decoding: $0, as: UTF8.self) }?
          .contains("too many connections") == true)
      connections.removeFirst()
      var answer: String?
      for _ in 0..<100 where answer == nil {
        let next = try DoorConnection(to: door.path)
        answer = try? await Self.asked(next, "again").flatMap { $0.contains("again") ? $0 : nil }
      }
      #expect(answer != nil)
      #expect(try await Self.asked(connections[0], "still")?.contains("still") == true)
    }
  }

  /// What is sent to a visitor who reads nothing waits here, and `isReady` says so; the end does not wait for it.
  @Test func aVisitorWhoDoesNotRead() async throws {
    let isSent = Flag()
    try await atDoor(serve: { visitor in
      for _ in 0..<100 { visitor.send(Array(repeating: 0x61, count: 1 << 16)) }
      #expect(!visitor.isReady)
      isSent.open()
    }) { door in
      let silent = try DoorConnection(to: door.path)
      await isSent.wait()
      _ = silent
    }
  }

  @Test func aVisitorWhoHasGone() async throws {
    let gone = Flag()
    try await atDoor(serve: { visitor in
      while await visitor.next() != nil {}
      #expect(visitor.isClosed)
      gone.open()
    }) { door in
      do { _ = try DoorConnection(to: door.path) }
      await gone.wait()
    }
  }

  @Test func nobodyIsThere() throws {
    #expect(throws: Errno.noSuchFileOrDirectory) { try DoorConnection(to: FilePath(folder.path("nothing"))) }
  }
}

private final class Flag: Sendable {
  private let opened = Waiters(false)
  func open() { opened.withLock { $0 = true } }
  func wait() async { _ = await opened.wait { $0 ? true : nil } }
}

private func offThePoolForSure(_ body: @escaping @Sendable () -> Void) async {
  try? await offThePool { body() }
}

/// A client with no manners.
private final class RawSocket: Sendable {
  private let descriptor: Int32

  init(_ path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let result = withUnsafePointer(to: place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    if result != 0 { throw SupportFailure("connect: \(errno)") }
  }

  deinit { close(descriptor) }

  func write(_ bytes: [UInt8]) -> Int { send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
}
