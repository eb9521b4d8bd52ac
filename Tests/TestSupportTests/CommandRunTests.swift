import Glibc
import Testing

@testable import TestSupport

@Suite("A command run beside the test")
struct CommandRunTests {
  @Test func `Large input and both outputs pass without a deadlock`() async throws {
    let bytes = SplitMix64.bytes(count: 3_000_000, seed: 6)
    let script = "tee /dev/stderr"
    let result = try await CommandRun.result(of: "sh", ["-c", script], input: bytes)
    #expect(result.ending == .exited(0))
    #expect(result.output.firstDifference(from: bytes) == nil)
    #expect(result.errors.firstDifference(from: bytes) == nil)
  }

  @Test func `Status, environment and folder are the command's`() async throws {
    let folder = try TemporaryFolder()
    let result = try await CommandRun.result(
      of: "/bin/sh", ["-c", "echo $WORD; pwd; exit 75"], environment: ["WORD": "one"], folder: folder.path)
    #expect(result.status == 75)
    #expect(result.outputText == "one\n\(folder.path)\n")
  }

  @Test func `A signal reaches the command, and its own trap answers`() async throws {
    let script = "trap 'echo caught; exit 130' INT; echo ready; while :; do read -r line || exit 1; done"
    let run = try CommandRun("sh", ["-c", script], input: .open)
    try await run.wait(forOutput: "ready")
    #expect(run.send(SIGINT))
    let result = try await run.waitForExit()
    #expect(result.ending == .exited(130))
    #expect(result.outputText == "ready\ncaught\n")
    #expect(!run.send(SIGINT))
  }

  @Test func `A signal without a trap is the ending`() async throws {
    let run = try CommandRun("cat", input: .open)
    run.send(SIGTERM)
    #expect(try await run.waitForExit().ending == .signalled(SIGTERM))
  }

  @Test func `Open input is fed piece by piece`() async throws {
    let run = try CommandRun("cat", input: .open)
    run.write(Array("one\n".utf8))
    try await run.wait(forOutput: "one\n")
    run.write(Array("two\n".utf8))
    run.closeInput()
    #expect(try await run.waitForExit().outputText == "one\ntwo\n")
  }

  /// Writing to a pipe that nobody reads raises SIGPIPE, which would end the whole test process.
  @Test func `A command that does not read its input harms nobody`() async throws {
    let input = [UInt8](repeating: 1, count: 1_000_000)
    #expect(try await CommandRun.result(of: "true", input: input).status == 0)
  }

  @Test func `A missing executable is a failure that names it`() throws {
    let failure = #expect(throws: SupportFailure.self) { try CommandRun("/no/such/command") }
    #expect(failure?.description.contains("/no/such/command") == true)
  }

  @Test func `Output that never comes is a failure that says what came`() async throws {
    let run = try CommandRun("echo", ["something else"])
    let failure = await #expect(throws: SupportFailure.self) { try await run.wait(forOutput: "wanted") }
    #expect(failure?.description.contains("something else") == true)
  }

  @Test func `A command that is let go is killed`() async throws {
    var processID: pid_t = 0
    do {
      let run = try CommandRun("sleep", ["1000"])
      processID = run.processID
      #expect(kill(processID, 0) == 0)
    }
    // Reaping follows the kill on another thread.
    while kill(processID, 0) == 0 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(errno == ESRCH)
  }

  @Test func `The built dlm is found beside the tests, or where DLM_BINARY says`() throws {
    let folder = try TemporaryFolder()
    let built = try folder.write([], to: "products/dlm")
    #expect(throws: SupportFailure.self) {
      try DLMExecutable.path(environment: [:], testBinary: folder.path("products/tests.xctest"))
    }
    chmod(built, 0o755)
    let beside = try DLMExecutable.path(environment: [:], testBinary: folder.path("products/tests.xctest"))
    #expect(beside == built)
    #expect(try DLMExecutable.path(environment: ["DLM_BINARY": "/bin/sh"], testBinary: built) == "/bin/sh")
    let failure = #expect(throws: SupportFailure.self) {
      try DLMExecutable.path(environment: ["DLM_BINARY": "/no/such/dlm"], testBinary: built)
    }
    #expect(failure?.description.contains("/no/such/dlm") == true)
  }
}
