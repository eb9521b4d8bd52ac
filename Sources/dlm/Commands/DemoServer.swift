import ArgumentParser
import DemoOrigin
import Glibc
import TerminalProgress

/// `dlm demo --serve`: the built-in server on its own, to try any downloader against.
struct DemoServer {
  let origin: DemoOrigin

  /// Serves until SIGINT or SIGTERM. The addresses, one a line, are a list for `dlm get`.
  func run() async throws {
    try await origin.start()
    try StandardOutput.say(await origin.addresses)
    StandardError.say(["Serving on loopback; stop with Ctrl-C."])
    let signals = Signals(.ending) {}
    _ = await signals.first { _ in true }
    await origin.stop()
  }
}

/// `500x4K`: so many files of that length.
struct FileSet: ExpressibleByArgument, Equatable {
  let count: Int
  let size: Int

  init?(argument: String) {
    let parts = argument.lowercased().split(separator: "x")
    guard parts.count == 2, let count = Int(parts[0]), count > 0, count <= 100_000,
      let size = ByteRate(argument: String(parts[1])), size.bytesPerSecond <= 1 << 40
    else { return nil }
    self.count = count
    self.size = Int(size.bytesPerSecond)
  }
}
