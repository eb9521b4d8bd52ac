import Testing

@testable import TerminalProgress

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("The descriptor")
struct TerminalOutputTests {
  /// The two ends of a new pipe.
  private func makePipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  @Test("everything is written, also to a pipe that takes a little at a time and never blocks")
  func writesAll() async throws {
    let ends = try makePipe()
    try #require(fcntl(ends.write, F_SETFL, O_NONBLOCK) == 0)
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    async let received = Self.readAll(ends.read)
    let result = Result { try TerminalOutput(descriptor: ends.write).write(bytes) }
    close(ends.write)
    #expect(await received == bytes)
    try result.get()
    close(ends.read)
  }

  @concurrent
  private static func readAll(_ descriptor: Int32) async -> [UInt8] {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count <= 0 { return all }
      all += buffer[..<count]
    }
  }

  @Test("a full pipe is not ready, and a write at once gives up")
  func full() throws {
    let ends = try makePipe()
    let output = TerminalOutput(descriptor: ends.write)
    #expect(output.isReady)
    #expect(!output.isTerminal)
    #expect(output.isInForeground)
    #expect(output.size == nil)
    try #require(fcntl(ends.write, F_SETFL, O_NONBLOCK) == 0)
    let block = [UInt8](repeating: 0, count: 4096)
    while write(ends.write, block, block.count) > 0 {}
    #expect(!output.isReady)
    // Even where a write would block for good.
    try #require(fcntl(ends.write, F_SETFL, 0) == 0)
    output.writeAtOnce(block)
    close(ends.write)
    close(ends.read)
  }

  #if os(Linux)
    @Test("a failure says why")
    func fails() throws {
      let full = open("/dev/full", O_WRONLY)
      try #require(full >= 0)
      #expect(throws: TerminalOutput.Lost(errno: ENOSPC)) { try TerminalOutput(descriptor: full).write([1]) }
      close(full)
    }
  #endif

  @Test("a terminal's size is read anew each time")
  func size() throws {
    var (main, terminal): (Int32, Int32) = (-1, -1)
    try #require(openpty(&main, &terminal, nil, nil, nil) == 0)
    let output = TerminalOutput(descriptor: terminal)
    #expect(output.isTerminal)
    #expect(output.isInForeground)  // It does not control this process.
    #expect(output.size == nil)  // 0 by 0: the size was never set.
    for (columns, rows) in [(80, 24), (132, 50)] {
      var window = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
      try #require(ioctl(main, UInt(TIOCSWINSZ), &window) == 0)
      #expect(output.size == TerminalSize(columns: columns, rows: rows))
    }
    close(terminal)
    close(main)
  }
}
