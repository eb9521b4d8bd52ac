import Foundation
import TestSupport

/// `dlm serve` in a place of its own, and requests to it by curl.
struct ServedPage {
  let place: Workplace
  private(set) var run: CommandRun
  private(set) var link: String

  var server: String { String(link.prefix { $0 != "#" }.dropLast()) }
  var token: String { String(link.drop { $0 != "#" }.dropFirst()) }

  init(_ arguments: String...) async throws {
    place = try Workplace()
    try FileManager.default.createDirectory(atPath: "\(place.work)/files", withIntermediateDirectories: true)
    (run, link) = try await Self.start(place, arguments)
  }

  private static func start(_ place: Workplace, _ arguments: [String]) async throws -> (CommandRun, String) {
    let run = try place.start(["serve", "--port", "0", "--directory", "files"] + arguments)
    try await run.wait(forOutput: "\n")
    return (run, run.outputText.split(separator: "\n").first.map(String.init) ?? "")
  }

  mutating func kill(_ signal: Int32) async throws {
    run.send(signal)
    _ = try await run.waitForExit()
  }

  mutating func restart() async throws { (run, link) = try await Self.start(place, []) }

  /// - Parameter headers: `nil` for the right token.
  func ask(
    _ path: String, _ body: String? = nil, headers: [String]? = nil
  ) async throws -> (status: Int, text: String) {
    let headers = (headers ?? ["Authorization: Bearer \(token)"]).flatMap { ["-H", $0] }
    let response = try await CurlCommand.response(
      headers + ["-H", "Expect:"] + (body.map { ["--data-binary", $0] } ?? []) + ["--path-as-is", server + path])
    return (response.status, String(decoding: response.body, as: UTF8.self))
  }

  func json(_ path: String, _ body: String? = nil) async throws -> [String: Any] {
    let text = try await ask(path, body).text
    return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
  }

  func states() async throws -> [String] {
    let runs = try await json("/api/runs")["runs"] as? [[String: Any]] ?? []
    return runs.compactMap { $0["state"] as? String }
  }

  func wait(for states: [String]) async throws {
    for _ in 0..<600 {
      if try await self.states() == states { return }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw SupportFailure("the runs are \(try await self.states()), not \(states)")
  }

  /// Stops the server and all runs.
  func end() async throws {
    for _ in try await states() where try await states().contains(where: { ["running", "paused"].contains($0) }) {
      _ = try await place.dlm("stop")
    }
    run.send(SIGTERM)
    _ = try await run.waitForExit()
  }
}
