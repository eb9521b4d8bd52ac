import DownloadModel
import Subprocess
import SystemPackage

/// Starts `dlm`, without a terminal that it could ask.
struct Program: Sendable {
  let path: String

  private static let mostOutput = 1 << 20

  private var options: PlatformOptions {
    var options = PlatformOptions()
    options.createSession = true
    options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(5))]
    return options
  }

  /// - Returns: what it wrote to standard output and standard error.
  /// - Throws: its message, if it failed.
  @discardableResult
  func run(_ arguments: [String]) async throws(Refused) -> String {
    let result: ExecutionResult<Void, StringOutput<UTF8>, StringOutput<UTF8>>
    do {
      result = try await Subprocess.run(
        .path(FilePath(path)), arguments: Arguments(arguments), platformOptions: options,
        output: .string(limit: Self.mostOutput), error: .string(limit: Self.mostOutput))
    } catch { throw Refused("dlm cannot be started: \(error)", status: 500) }
    let said = result.standardOutput + result.standardError
    guard result.terminationStatus.isSuccess else {
      throw Refused(said.split(separator: "\n").first.map(String.init) ?? "dlm failed without a word", status: 409)
    }
    return said
  }

  /// - Parameter take: gets each line of standard output. If it throws, the program ends.
  /// - Returns: the last line of its messages, if it failed.
  func follow(_ arguments: [String], _ take: (String) async throws -> Void) async throws -> String? {
    let result = try await Subprocess.run(
      .path(FilePath(path)), arguments: Arguments(arguments), platformOptions: options, input: .none,
      output: .sequence, error: .string(limit: Self.mostOutput)
    ) { execution in
      do {
        for try await line in execution.standardOutput.strings(bufferingPolicy: .unbounded) { try await take(line) }
      } catch {
        await execution.teardown(using: [.gracefulShutDown(allowedDurationToNextStep: .seconds(5))])
        throw error
      }
    }
    if result.terminationStatus.isSuccess { return nil }
    return result.standardError.split(separator: "\n").last.map(String.init) ?? "dlm has ended"
  }
}
