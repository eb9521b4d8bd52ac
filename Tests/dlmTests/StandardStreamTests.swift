import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Signals, streams and descriptors are taken as the caller left them", .serialized)
struct StandardStreamTests {
  private func shell(_ place: Workplace, _ script: String, _ arguments: [String] = []) async throws
    -> CommandResult
  {
    try await place.start("sh", ["-c", script, try DLMExecutable.path()] + arguments).waitForExit()
  }

  /// nohup, and sh for what it runs in the background, have a signal ignored; it was once caught all the
  /// same.
  @Test(arguments: [(SIGHUP, "HUP"), (SIGINT, "INT"), (SIGTERM, "TERM")] as [(Int32, String)])
  func ignoredSignalsStayIgnored(signal: Int32, name: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/f", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    let place = try Workplace()
    let run = try place.start(
      "sh", ["-c", "trap '' \(name); exec \"$0\" get \(origin.url("/f"))", try DLMExecutable.path()])
    try await origin.wait(path: "/f", bodyBytesSent: 1)
    for _ in 0..<3 { run.send(signal) }
    // A signal that was not ignored ends the run before this; /proc says that it is not even caught.
    let status = try String(contentsOfFile: "/proc/\(run.processID)/status", encoding: .utf8)
    let ignored = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") })
    let mask = try #require(UInt64(ignored.split(separator: "\t").last ?? "", radix: 16))
    #expect(mask & (1 << UInt64(signal - 1)) != 0, "\(ignored)")
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.file("f") == [1, 2, 3])
  }

  /// Half a list must not pass for the whole: `--progress json > /dev/full` once ended with 0.
  @Test(arguments: [
    "get --dry-run --offline http://h/x", "--version", "--help", "get --help", "cache path", "cache status",
    "cache list",
  ])
  func outputThatCannotBeWritten(arguments: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    let full = try await shell(place, "exec \"$0\" \(arguments) > /dev/full")
    #expect(full.status == 74, "\(full)")
    #expect(full.errorText.contains("standard output cannot be written: No space left"), "\(full.errorText)")
    let closed = try await shell(place, "exec \"$0\" \(arguments) >&-")
    #expect(closed.status == 74, "\(closed.errorText)")
    // A reader that went away needs no more: quiet, and no failure.
    let gone = try await shell(place, "(sleep 0.2; \"$0\" \(arguments); echo $? >&2) | true")
    #expect(gone.errorText == "0\n", "\(gone.errorText)")
  }

  /// The files arrive; what reads the lines has lost some.
  @Test(arguments: ["> /dev/full", "| true"])
  func progressThatCannotBeWritten(sink: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    let run = try await shell(
      place, "(sleep 0.2; \"$0\" get --progress json \(origin.url("/f")); echo status $? >&2) \(sink)")
    #expect(run.errorText.contains("status 74"), "\(run.errorText)")
    #expect(run.errorText.contains("standard output cannot be written"), "\(run.errorText)")
    #expect(try place.file("f") == [1])
  }

  /// The first file opened once got the number of a stream that the caller had closed, and progress was
  /// written into it.
  @Test(arguments: ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
  func closedDescriptors(redirection: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 300_000, seed: 1)
    for index in 0..<20 { origin.route("/f\(index)", .file(body)) }
    let place = try Workplace()
    _ = try place.list((0..<20).map { origin.url("/f\($0)") })
    let run = try await shell(place, "exec \"$0\" get urls.txt -v -d out --progress plain \(redirection)")
    #expect(run.status == 0, "\(run.errorText)")
    for index in 0..<20 { #expect(try place.file("out/f\(index)") == body) }
    let lost = try await shell(
      place, "exec \"$0\" get urls.txt --no-cache -d again --progress json \(redirection)")
    #expect(
      lost.status == (redirection.contains(">&-") && redirection != "2>&-" ? 74 : 0), "\(lost.errorText)")
    for index in 0..<20 { #expect(try place.file("again/f\(index)") == body) }
  }

  /// Closed standard input is no empty list.
  @Test func closedInputIsNoList() async throws {
    let run = try await shell(try Workplace(), "exec \"$0\" get - <&-")
    #expect(run.status == 66, "\(run.errorText)")
    #expect(run.errorText.contains("Bad file descriptor"), "\(run.errorText)")
  }

  /// Every text for a person passes one gate: no byte of it acts on a terminal.
  @Test func nothingActsOnTheTerminal() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let evil = "\u{1B}]0;x\u{7}\u{9B}31m\u{202E}\u{200B}"
    origin.route(
      "/f", .file([1], FileOptions(headers: ["Content-Disposition: attachment; filename=\"g\(evil).txt\""])))
    let place = try Workplace()
    let file = "x\(evil)"
    _ = try place.folder.write(Array("not a sum\nffff  a\(evil)\n".utf8), to: "work/\(file)")
    let commands = [
      ["get", origin.url("/f"), "-v", "-d", file + "d"], ["get", "--dry-run", origin.url("/f"), "-d", file],
      ["get", origin.url("/f"), "--checksums", file], ["cache", "list"], ["cache", "verify"], ["get", file],
      ["get", "--progress", "json", "--refresh", origin.url("/f"), "-d", file + "d"], ["get", evil],
      ["get", "--\(evil)"], ["get", "--jobs", evil, "x"], ["get", "-o", "a/\(evil)/", "http://h/x"],
      ["get", "--failed", "/no/\(evil)", "http://h:0/"], ["compare", file], ["demo", evil],
      ["get", "--user-agent", evil, "x"],
      ["get", "-H", "@\(evil)", "x"], ["get", "--cacert", evil, "x"],
    ]
    for command in commands + [["get", "with-settings"]] {
      if command.last == "with-settings" {
        _ = try place.folder.write(Array("na\u{202E}\u{200B}me: 1\n\(evil) = [\n".utf8), to: "work/.dlm.conf")
      }
      let run = try await place.start(command).waitForExit()
      #expect(!run.errorText.isEmpty || !run.outputText.isEmpty, "\(command) said nothing to look at")
      for text in [run.outputText, run.errorText] {
        let bad = text.unicodeScalars.filter { scalar in
          scalar.value < 0x20 && scalar != "\n" && scalar != "\t" || (0x7F...0x9F).contains(scalar.value)
            || scalar == "\u{202E}" || scalar == "\u{200B}"
        }
        #expect(bad.isEmpty, "\(command.map { $0.debugDescription }): \(text.debugDescription)")
      }
    }
  }
}
