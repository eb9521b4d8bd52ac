import Foundation
import TestSupport
import Testing

@testable import dlm

@Suite("Commands of the user's: --on-complete, --on-done")
struct HooksTests {
  @Test(
    arguments: [
      ("touch done", ["touch", "done"]), ("  a\t b ", ["a", "b"]), ("a 'b  c' \"d 'e'\"", ["a", "b  c", "d 'e'"]),
      ("a --b='c d'e ''", ["a", "--b=c de", ""]), ("a $HOME;b|c", ["a", "$HOME;b|c"]),
      ("", nil), (" ", nil), ("a 'b", nil), ("a\"", nil),
    ])
  func words(text: String, words: [String]?) { #expect(HookCommand(argument: text)?.words == words) }

  /// One line per command: its variables, and what it can see.
  private static let note =
    #"sh -c 'echo "$DLM_VERDICT $DLM_STATUS $DLM_PATH $DLM_URL $DLM_DONE $DLM_FAILED" >> log; echo said'"#

  private static func log(_ place: Workplace) throws -> [String] {
    defer { try? FileManager.default.removeItem(atPath: "\(place.work)/log") }
    return String(decoding: try place.file("log"), as: UTF8.self).split(separator: "\n").map(String.init).sorted()
  }

  @Test func afterEachFileAndAtTheEnd() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b"] { origin.route("/\(name)", .file([1, 2, 3], FileOptions(etag: "\"1\""))) }
    let place = try Workplace()
    _ = try place.folder.write([9], to: "work/b")
    let urls = [origin.url("/a?token=t"), origin.url("/none"), origin.url("/b")]
    let all = ["get"] + urls + ["--on-complete", Self.note, "--on-done", Self.note]
    let run = try await place.start(all).waitForExit()
    #expect(run.status == 1 && run.outputText.isEmpty && run.errorText.contains("said\n"), "\(run.errorText)")
    let secret = origin.url("/a?token=…")
    #expect(
      try Self.log(place) == [
        "downloaded 0 \(place.work)/a \(secret)  ", "downloaded 0 \(place.work)/b.1 \(origin.url("/b"))  ",
        "failed 1   2 1",
      ])
    let again = try await place.start(["get", urls[0], "-q"] + all.dropFirst(4)).waitForExit()
    #expect(again.status == 0, "\(again.errorText)")
    #expect(try Self.log(place) == ["unchanged 0   1 0", "unchanged 0 \(place.work)/a \(secret)  "])
  }

  /// What a command does is its own; and nothing of dlm is open to it, or to what it leaves running.
  @Test(
    arguments: [
      ("sh -c 'exit 3'", "/a ended with status 3"), ("sh -c 'kill -9 $$'", "/a ended by signal 9"),
      ("sh -c 'ls /proc/self/fd; cat; grep SigBlk /proc/self/status'", "0\n1\n2\n3\nSigBlk:\t0000000000000000\n"),
    ])
  func itsFailureIsAWord(command: String, words: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2, 3]))
    let place = try Workplace()
    // Quiet, so that none of dlm's own lines is between those of the command.
    let run = try await place.dlm("get", "-q", origin.url("/a"), "--on-complete", command)
    #expect(run.status == 0 && run.errorText.contains(words), "\(run.errorText)")
  }

  /// Before the run: after hours of it would be too late.
  @Test(
    arguments: [
      ("--on-done", "no-such-program x", "--on-done: there is no program no-such-program"),
      ("--on-complete", "./none", "--on-complete: there is no program ./none"),
      ("--on-complete", "tar xzf $DLM_PATH", "--on-complete: $DLM_PATH needs a shell: sh -c '…'"),
    ])
  func whatCannotRunIsSaidBefore(option: String, command: String, words: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/a"), option, command)
    #expect(run.status == 64 && run.errorText.contains(words), "\(run.errorText)")
    #expect(origin.log.isEmpty)
  }

  /// Each waits until it is alone, or sees another.
  @Test(arguments: [1, 3]) func asManyAtATimeAsFiles(jobs: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let names = (0..<6).map { "f\($0)" }
    for name in names { origin.route("/\(name)", .file([1])) }
    let place = try Workplace()
    try place.folder.makeFolder("work/now")
    let command =
      #"sh -c 'f=now/${DLM_PATH##*/}; touch $f; ls now | wc -l >> log; sleep 0.05; ls now | wc -l >> log; rm $f'"#
    let run = try await place.start(
      ["get", "-j", "\(jobs)", "--on-complete", command] + names.map { origin.url("/\($0)") }
    ).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    let counts = try Self.log(place).compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
    #expect(counts.count == 12 && counts.max() ?? 0 <= jobs, "\(counts)")
  }

  /// A server chose the name, and a command would take it for an option.
  @Test func aNameThatIsAnOption() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/a", .file([1, 2, 3], FileOptions(headers: ["Content-Disposition: attachment; filename=\"--version\""])))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/a"), "--on-complete", #"sh -c 'cat "$DLM_PATH" > seen'"#)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("seen") == [1, 2, 3])
  }

  /// What hangs, with a process that it started, whose number it leaves.
  private static func hanging(_ trap: String) -> String {
    "sh -c '\(trap) sleep 1000 & echo $! > child; touch begun; wait; wait; sleep 1000'"
  }

  private static func expectEnded(_ place: Workplace) async throws {
    let number = String(decoding: try place.file("child"), as: UTF8.self).trimmingCharacters(
      in: .whitespacesAndNewlines)
    func isRunning() -> Bool {
      let text = (try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)) ?? ""
      return !text.isEmpty && !text.contains(") Z ")
    }
    try await poll("the end of \(number)") { !isRunning() }
  }

  /// The first signal, or the end of --grace, goes to the commands and their children; a second ends those that ignore it.
  @Test(
    arguments: [
      (SIGTERM, 1, "", []), (SIGINT, 1, "", []), (SIGTERM, 2, "trap \"\" TERM;", []),
      (SIGTERM, 1, "", ["--grace", "1"]), (SIGTERM, 1, "", ["-j", "1"]),
    ] as [(Int32, Int, String, [String])])
  func signals(number: Int32, count: Int, trap: String, options: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for path in ["/a", "/b", "/c"] { origin.route(path, .file([1, 2, 3])) }
    let place = try Workplace()
    let urls = ["/a", "/b", "/c"].prefix(options.first == "-j" ? 3 : 1).map { origin.url($0) }
    let run = try place.start(["get"] + urls + options + ["--on-complete", Self.hanging(trap)])
    try await place.wait(forSize: 0, of: "begun")
    try await place.wait(forSize: 3, of: urls.count == 3 ? "c" : "a")
    run.send(number)
    if count == 2 {
      try await Task.sleep(for: .milliseconds(300))
      run.send(number)
    }
    let end = try await run.waitForExit()
    #expect(end.status == 128 + number, "\(end.errorText)")
    if count == 1 { #expect(end.errorText.contains("/a ended by signal 15"), "\(end.errorText)") }
    #expect(end.errorText.contains("--on-complete did not run for ") == (urls.count == 3), "\(end.errorText)")
    try await Self.expectEnded(place)
  }

  @Test func aSignalAtTheEnd() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2, 3]))
    let place = try Workplace()
    let run = try place.start(["get", origin.url("/a"), "--on-done", Self.hanging("")])
    try await place.wait(forSize: 0, of: "begun")
    run.send(SIGTERM)
    let end = try await run.waitForExit()
    #expect(end.status == 0 && end.errorText.contains("--on-done for the run ended by signal 15"), "\(end.errorText)")
    try await Self.expectEnded(place)
  }

  /// A stranger's folder runs no commands.
  @Test func neverFromTheFolder() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2, 3]))
    let place = try Workplace()
    let text = "on-complete = touch pwned\non-done = touch pwned\n"
    _ = try place.folder.write(Array(text.utf8), to: "work/.dlm.conf")
    let run = try await place.dlm("get", origin.url("/a"))
    #expect(run.status == 0 && run.errorText.contains("on-complete"), "\(run.errorText)")
    #expect(try place.names().filter { !$0.hasPrefix(".") } == ["a"])
    _ = try place.folder.write(Array(text.replacing("pwned", with: "mine").utf8), to: "home/config/dlm/dlm.conf")
    #expect(try await place.dlm("get", origin.url("/a")).status == 0)
    #expect(try place.names().filter { !$0.hasPrefix(".") } == ["a", "mine"])
    let bad = try await place.dlm("get", origin.url("/a"), "--on-done", "a 'b")
    #expect(bad.status == 64, "\(bad.errorText)")
  }
}
