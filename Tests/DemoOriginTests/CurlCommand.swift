import Foundation

/// A run of the `curl` program, as a client that shares no code with the origin.
///
/// Nothing here blocks a thread: the origin under test lives in the same process and needs them.
struct CurlCommand: Sendable {
  private let output: URL
  private let ending: Task<Int32, any Error>
  private let identifier: pid_t

  /// Starts at once. Standard output and error go to one file, in the order in which curl writes them.
  init(_ arguments: [String]) throws {
    let output = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data().write(to: output)
    self.output = output
    let handle = try FileHandle(forWritingTo: output)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // The limit is longer than a test may take: it only ends what a failed test leaves behind.
    let always = ["curl", "--silent", "--show-error", "--no-buffer", "--noproxy", "*", "--max-time", "90"]
    process.arguments = always + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = handle
    process.standardError = handle
    let (ended, continuation) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = { process in
      continuation.yield(process.terminationStatus)
      continuation.finish()
    }
    try process.run()
    identifier = process.processIdentifier
    // Unstructured: it bridges the process's callback, and every test awaits it through `end()`.
    ending = Task {
      defer { handle.closeFile() }
      for await status in ended { return status }
      throw CancellationError()
    }
  }

  /// curl's exit status, with everything it wrote.
  func end() async throws -> (status: Int32, output: Data) {
    let status = try await ending.value
    let data = try Data(contentsOf: output)
    try FileManager.default.removeItem(at: output)
    return (status, data)
  }

  /// Ends curl where it stands. Not by SIGTERM: a child inherits the signals that its parent's thread blocks,
  /// and worker threads block nearly all.
  func terminate() { kill(identifier, SIGKILL) }

  /// Returns once curl has written `text`; the test's time limit ends a wait in vain.
  func wrote(_ text: String) async throws {
    while try Data(contentsOf: output).range(of: Data(text.utf8)) == nil {
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// One response, undecoded: chunked framing would stand in its body.
  static func response(_ arguments: [String]) async throws -> CurlResponse {
    let (status, output) = try await CurlCommand(["--include", "--raw"] + arguments).end()
    guard status == 0 else { throw CurlFailure(status: status) }
    return try CurlResponse(output)
  }
}

struct CurlFailure: Error, Equatable {
  let status: Int32
}
