import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("Files that options name: none is written that is read, and none keeps dlm from ending")
struct NamedFilesTests {
  private static let written = OptionTable.rows.filter { $0.file != nil && $0.file != .read }.map(\.name)
  private static let read = OptionTable.rows.filter { $0.file == .read }.map(\.name)

  /// So that a new option with a file is in the tables below.
  @Test func theTableKnowsThemAll() async throws {
    let dump = try await Workplace().dlm("get", "--experimental-dump-help").outputText
    let tree = try #require(try JSONSerialization.jsonObject(with: Data(dump.utf8)) as? [String: Any])
    let arguments = (tree["command"] as? [String: Any])?["arguments"] as? [[String: Any]] ?? []
    let names = arguments.compactMap { argument -> String? in
      guard (argument["completionKind"] as? [String: Any])?["file"] != nil else { return nil }
      return (argument["names"] as? [[String: Any]])?.first { $0["kind"] as? String == "long" }?["name"]
        as? String
    }
    // Of -H only @FILE is one.
    #expect(Set(names + ["header"]) == Set(Self.written + Self.read))
    #expect(
      Self.written == ["cookie-jar", "failed", "write-checksums", "write-list", "events", "summary-json", "report"])
  }

  // MARK: Read and written

  /// A report says by its ending what it is.
  private static let name = "urls.html"
  private static let content = "http://127.0.0.1:9/x\n"

  private static func workplace() throws -> Workplace {
    let place = try Workplace()
    _ = try place.folder.write(Array(content.utf8), to: "work/\(name)")
    try place.folder.makeFolder("work/sub")
    #expect(link("\(place.work)/\(name)", "\(place.work)/hard.html") == 0)
    #expect(symlink(name, "\(place.work)/soft.html") == 0)
    return place
  }

  private static func expectRefusal(_ place: Workplace, _ arguments: [String], _ words: [String]) async throws {
    let run = try await place.start(["get"] + arguments).waitForExit()
    #expect(run.status == 64, "\(arguments): \(run.errorText)")
    for word in words { #expect(run.errorText.contains(word), "\(arguments): \(run.errorText)") }
    #expect(String(decoding: try place.file(name), as: UTF8.self) == content, "\(arguments)")
  }

  /// The list was once emptied before it was read.
  @Test(arguments: written)
  func theList(option: String) async throws {
    let place = try Self.workplace()
    for path in [
      Self.name, "sub/../\(Self.name)", "missing/../\(Self.name)", "hard.html", "\(place.work)/\(Self.name)",
    ] {
      try await Self.expectRefusal(
        place, [Self.name, "--\(option)", path],
        ["--\(option) \(path)", "the list \(Self.name)", "Name another"])
    }
    try await Self.expectRefusal(place, ["soft.html", "--\(option)", Self.name], ["the list soft.html"])
    let script = "exec \"$0\" get - --\(option) \(Self.name) < \(Self.name)"
    let run = try await place.start("sh", ["-c", script, try DLMExecutable.path()]).waitForExit()
    #expect(run.status == 64 && run.errorText.contains("standard input"), "\(run.errorText)")
    #expect(String(decoding: try place.file(Self.name), as: UTF8.self) == Self.content)
    // By a setting too, and for lists that are measured.
    let set = try await place.start(
      "env",
      ["\(SettingsSources.variable(option))=\(Self.name)", try DLMExecutable.path(), "compare", Self.name]
    ).waitForExit()
    #expect(set.status == 64 && set.errorText.contains("the list \(Self.name)"), "\(set.errorText)")
    #expect(String(decoding: try place.file(Self.name), as: UTF8.self) == Self.content)
  }

  @Test(arguments: written, read)
  func filesOfOptions(output: String, input: String) async throws {
    let place = try Self.workplace()
    let value = input == "header" ? "@soft.html" : "soft.html"
    try await Self.expectRefusal(
      place, ["http://127.0.0.1:9/x", "--\(input)", value, "--\(output)", Self.name],
      ["--\(output) \(Self.name)", "--\(input) soft.html", "the same file"])
  }

  @Test(arguments: written)
  func settings(option: String) async throws {
    let place = try Self.workplace()
    for path in [".dlm.conf", "../home/config/dlm/dlm.conf"] {
      _ = try place.folder.write(Array("mode = parallel\n".utf8), to: "work/\(path)")
      try await Self.expectRefusal(
        place, ["http://127.0.0.1:9/x", "--\(option)", path], ["--\(option) \(path)", "the settings file"])
      #expect(try place.file(path) == Array("mode = parallel\n".utf8))
    }
    // Nor is one made there for the next run.
    try FileManager.default.removeItem(atPath: "\(place.work)/.dlm.conf")
    try await Self.expectRefusal(
      place, ["http://127.0.0.1:9/x", "--\(option)", "sub/../.dlm.conf"], ["the settings file .dlm.conf"])
  }

  @Test(arguments: written, written)
  func twoOutputs(one: String, other: String) async throws {
    guard one < other else { return }
    let place = try Self.workplace()
    for (first, second) in [(Self.name, "hard.html"), ("new.html", "sub/../new.html")] {
      try await Self.expectRefusal(
        place, ["http://127.0.0.1:9/x", "--\(one)", first, "--\(other)", second],
        ["--\(one) \(first)", "--\(other) \(second)", "are one file: name two"])
    }
  }

  /// What any number may write, and different files, are no conflict.
  @Test func whatMayBeShared() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    let run = try await place.dlm(
      "get", origin.url("/f"), "--events", "/dev/null", "--failed", "/dev/null", "--summary-json", "s")
    #expect(run.status == 0, "\(run.errorText)")
    let script = "exec \"$0\" get \(origin.url("/f")) --events - --summary-json - > out"
    #expect(try await place.start("sh", ["-c", script, try DLMExecutable.path()]).waitForExit().status == 0)
    #expect(try place.names() == ["f", "out", "s"])
  }

  // MARK: Pipes and signals

  /// Ends by itself, or by one SIGTERM, whenever that comes.
  private static func expectEnd(_ run: CommandRun, _ origin: FaultyOrigin, _ what: String) async throws {
    // Where it stands still, if it does, it is by then; the rest is the same for every moment.
    for _ in 0..<100 where !run.hasEnded { try await Task.sleep(for: .milliseconds(10)) }
    run.send(SIGTERM)
    do {
      let result = try await run.waitForExit()
      #expect(result.status != 74, "\(what): \(result.errorText)")
    } catch {
      Issue.record("\(what): still there after SIGTERM")
      run.send(SIGKILL)
    }
  }

  /// A pipe without anybody at its other end once held dlm up, deaf to SIGTERM.
  @Test(arguments: written + read)
  func aPipe(option: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    #expect(mkfifo("\(place.work)/pipe.html", 0o600) == 0)
    let value = (option == "header" ? "@" : "") + "pipe.html"
    let run = try place.start(["get", origin.url("/f"), "--\(option)", value])
    try await Self.expectEnd(run, origin, option)
  }

  @Test func pipesThatAreListsOrSettings() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    #expect(mkfifo("\(place.work)/pipe", 0o600) == 0)
    try await Self.expectEnd(try place.start(["get", "pipe"]), origin, "a list")
    try await Self.expectEnd(try place.start(["get", "--dry-run", "pipe"]), origin, "a list, named")
    try await Self.expectEnd(try place.start(["compare", "pipe"]), origin, "a list, measured")
    // With a writer that comes late it is a list as any other.
    let script =
      "(while ! [ -e go ]; do sleep 0.05; done; echo \(origin.url("/f")) > pipe) & exec \"$0\" get pipe"
    let late = try place.start("sh", ["-c", script, try DLMExecutable.path()])
    _ = try place.folder.write([], to: "work/go")
    #expect(try await late.waitForExit().status == 0)
    #expect(try place.file("f") == [1])
    // Behind the run, a reader that comes late gets all of it.
    let reading = "\"$0\" get \(origin.url("/none")) --failed pipe & sleep 0.3; cat pipe; wait"
    let run = try await place.start("sh", ["-c", reading, try DLMExecutable.path()]).waitForExit()
    #expect(run.outputText.hasSuffix("\(origin.url("/none"))\n"), "\(run.errorText)")
  }

  // MARK: Prompts

  /// Each prompt gives the terminal back as it was; the pass phrase's once left it without echo.
  @Test(arguments: ["passphrase", "clear-cache", "conflict", "name"])
  func promptsAndSignals(prompt: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace(["NO_COLOR": "1"])
    let evil = "\u{1B}]0;x\u{7}locked.pem"
    let key = "-----BEGIN CERTIFICATE-----\n-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
    _ = try place.folder.write(Array(key.utf8), to: "work/\(evil)")
    var (arguments, question) = (["get", origin.url("/f"), "--ask-names"], "Name: ")
    switch prompt {
    case "passphrase":
      (arguments, question) = (["get", origin.url("/f"), "--cert", evil], "Pass phrase for .*locked")
    case "clear-cache":
      #expect(try await place.dlm("get", origin.url("/f")).status == 0)
      (arguments, question) = (["clear-cache", "--files"], "\\[y/N\\]")
    case "conflict":
      _ = try place.folder.write([9], to: "work/f")
      (arguments, question) = (["get", origin.url("/f"), "--on-conflict", "ask"], "exists")
    default: break
    }
    let terminal = try TerminalRun(place, arguments)
    defer { terminal.stop() }
    try await terminal.wait(for: question)
    let sent = String(decoding: try terminal.sent(), as: UTF8.self)
    #expect(!sent.contains("\u{1B}]0;x"), "\(sent.debugDescription)")
    try await terminal.send(SIGTERM)
    let end = try await terminal.waitForEnd()
    #expect(
      end.status == -Int(SIGTERM) || end.status == 143, "\(String(describing: end.status)): \(end.text)")
    #expect(end.modeAfter == end.modeBefore)
  }

  // MARK: Whose they are

  /// Who can write them chooses as whom dlm logs in.
  @Test(arguments: ["netrc-file", "header", "key", "cert", "cert-passphrase-file"])
  func filesOfOthers(option: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    let certificate = "-----BEGIN CERTIFICATE-----\n"
    _ = try place.folder.write(Array(certificate.utf8), to: "work/me.pem")
    _ = try place.folder.write(
      Array((option == "cert" ? certificate : "machine h login CANARY password CANARY\n").utf8),
      to: "work/secret")
    let value = (option == "header" ? "@" : "") + "secret"
    let more =
      option == "key" || option == "cert-passphrase-file" ? ["--cert", "me.pem", "--key", "secret"] : []
    func message() async throws -> String {
      let run = try await place.start(["get", origin.url("/f"), "--\(option)", value] + more).waitForExit()
      #expect(!run.errorText.contains("CANARY"))
      return run.status == 64 ? run.errorText : "\(run.ending)"
    }
    for mode in [0o620, 0o602, 0o666] as [mode_t] {
      #expect(chmod("\(place.work)/secret", mode) == 0)
      let text = try await message()
      #expect(text.contains("others can write it; chmod go-w"), "\(text)")
    }
    #expect(chmod("\(place.work)/secret", 0o644) == 0)
    #expect(try await !message().contains("others can write it"))
    guard geteuid() == 0 else { return }
    #expect(chown("\(place.work)/secret", 12345, 12345) == 0)
    let text = try await message()
    #expect(text.contains("it belongs to another user"), "\(text)")
    if option == "header" {
      // Nor is what comes through another's pipe.
      #expect(unlink("\(place.work)/secret") == 0 && mkfifo("\(place.work)/secret", 0o600) == 0)
      #expect(chown("\(place.work)/secret", 12345, 12345) == 0)
      let run = try place.start(["get", origin.url("/f"), "-H", "@secret"])
      let writer = try CommandRun("sh", ["-c", "echo 'X-Evil: 1' > '\(place.work)/secret'"])
      let result = try await run.waitForExit()
      writer.send(SIGKILL)
      #expect(
        result.status == 64 && result.errorText.contains("it belongs to another user"), "\(result.errorText)")
    }
    #expect(origin.log.count < 2)
  }
}
