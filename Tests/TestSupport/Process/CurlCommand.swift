/// The `curl` program, as a client that shares no code with the server under test.
package enum CurlCommand {
  /// No `.curlrc`, no proxy, and a limit longer than a test may take: it ends only what a failed test leaves
  /// behind.
  private static let always = ["-q", "-sS", "--no-buffer", "--noproxy", "*", "--max-time", "90"]

  /// Starts it.
  package static func start(_ arguments: [String], folder: String? = nil) throws(SupportFailure) -> CommandRun {
    try CommandRun("curl", always + arguments, folder: folder)
  }

  /// Runs it to its end.
  package static func result(_ arguments: [String], folder: String? = nil) async throws(SupportFailure)
    -> CommandResult
  {
    try await start(arguments, folder: folder).waitForExit()
  }

  /// One response, undecoded: chunked framing would stand in its body.
  /// - Throws: when curl ends with another status than 0, or prints no head.
  package static func response(_ arguments: [String]) async throws(SupportFailure) -> CurlResponse {
    let result = try await result(["--include", "--raw"] + arguments)
    guard result.status == 0 else { throw SupportFailure("curl: \(result.ending) \(result.errorText)") }
    guard let response = CurlResponse(result.output) else {
      throw SupportFailure("no head: \(result.outputText)")
    }
    return response
  }
}

/// A response as `curl --include` prints it.
package struct CurlResponse: Sendable {
  package let status: Int
  /// Names in lower case.
  package let fields: [String: String]
  package let body: [UInt8]

  /// - Returns: nil if there is no head.
  init?(_ bytes: [UInt8]) {
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
    guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { return nil }
    self.status = status
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let sides = line.split(separator: ":", maxSplits: 1)
      guard sides.count == 2 else { return nil }
      fields[sides[0].lowercased()] = String(sides[1].drop { $0 == " " })
    }
    self.fields = fields
    body = Array(bytes[end.upperBound...])
  }
}
