import Foundation

/// The built `dlm`, which the end-to-end tests run.
public enum DLMExecutable {
  /// Its absolute path: `DLM_BINARY` if that is set, else `dlm` beside the running test binary.
  /// - Throws: when there is no executable file.
  public static func path() throws(SupportFailure) -> String {
    let environment = ProcessInfo.processInfo.environment
    // Tests are run from the products folder. Without /proc the first argument says which it is.
    let link = "/proc/self/exe"
    let binary = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
    return try path(environment: environment, testBinary: binary ?? CommandLine.arguments[0])
  }

  static func path(environment: [String: String], testBinary: String) throws(SupportFailure) -> String {
    let beside = URL(filePath: testBinary).deletingLastPathComponent().appending(path: "dlm").path
    let candidate = environment["DLM_BINARY"] ?? beside
    guard FileManager.default.isExecutableFile(atPath: candidate) else {
      throw SupportFailure("no executable at \(candidate); build dlm first, or name it in DLM_BINARY")
    }
    return candidate
  }
}
