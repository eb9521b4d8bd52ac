import DownloadModel
import Glibc
import TerminalProgress
import TestSupport
import Testing

@testable import dlm

@Suite("A list at an address, and lists that are compressed")
struct ListAtAddressTests {
  private static func origin() throws -> FaultyOrigin {
    let origin = try FaultyOrigin()
    for name in ["a", "b", "c"] {
      origin.route("/files/\(name).bin", .file(Array("the file \(name)".utf8)))
    }
    return origin
  }

  private static func text(_ lines: String...) -> [UInt8] {
    Array((lines.joined(separator: "\n") + "\n").utf8)
  }

  @Test func linesAreRelativeToIt() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route(
      "/files/lists/urls.txt",
      .file(Self.text("# three", "../a.bin", "/files/b.bin", origin.url("/files/c.bin"), "mailto:x")))
    let place = try Workplace()
    let result = try await place.dlm("get", origin.url("/files/lists/urls.txt"), "--list")
    #expect(result.status == 1, "\(result.errorText)")
    #expect(result.errorText.contains("urls.txt:5: \"mailto:x\" is not a URL"), "\(result.errorText)")
    #expect(try place.names() == ["a.bin", "b.bin", "c.bin"])
    // By name it is an address like any other.
    #expect(try await place.dlm("get", origin.url("/files/lists/urls.txt"), "-d", "plain").status == 0)
    #expect(try place.names(in: "plain") == ["urls.txt"])
  }

  /// What a run remembers of it is where it is: the list is asked for again.
  @Test func isTakenAgain() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/files/urls.txt", .file(Self.text("a.bin", "b.bin")))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/files/urls.txt"), "--list").status == 0)
    let again = try await place.dlm("get")
    #expect(again.status == 0 && again.errorText.contains("up to date: 2 files"), "\(again.errorText)")
    let compared = try await place.dlm("get", "--mode", "sequential")
    #expect(compared.status == 0 && compared.errorText.contains("to compare"), "\(compared.errorText)")
    let dry = try await place.dlm("get", "--dry-run")
    #expect(dry.outputText.contains("a.bin") && dry.outputText.contains("b.bin"), "\(dry.outputText)")
  }

  @Test(.timeLimit(.minutes(hangMinutes))) func filesComeWhileItArrives() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let (list, gate) = (Self.text("a.bin", "b.bin"), try Gate())
    origin.route("/files/urls.txt", .file(list, FileOptions(ending: .stall(after: 7, until: gate))))
    let place = try Workplace()
    let run = try place.start(["get", origin.url("/files/urls.txt"), "--list"])
    try await origin.wait(forRequests: 1, path: "/files/a.bin")
    #expect(origin.record.requests(to: "/files/b.bin").isEmpty)
    gate.open()
    #expect(try await run.waitForExit().status == 0)
    #expect(try place.names() == ["a.bin", "b.bin"])
  }

  @Test func whatItIsWaitedForIsSaid() throws {
    let address = try Address("https://name:secret@h/list")
    #expect(ListMessages.reading(address, after: nil) == "reading https://h/list")
    #expect(
      ListMessages.reading(address, after: (DownloadError(.resolve), .seconds(1.2)))
        == "reading https://h/list: \(ProgressMessages.forDisplay.cause(DownloadError(.resolve))), retrying in 2 s")
    #expect(ListMessages.waiting(for: .standardInput) == "waiting for standard input")
    #expect(ListMessages.waiting(for: .list(path: "pipe")) == "waiting for pipe")
  }

  /// A signal ends the wait for a list that does not come.
  @Test(.timeLimit(.minutes(hangMinutes))) func interrupted() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/urls.txt", .silence())
    let place = try Workplace()
    let run = try place.start(["get", origin.url("/urls.txt"), "--list"])
    try await origin.wait(forRequests: 1)
    run.send(SIGINT)
    #expect(try await run.waitForExit().status == 130)
  }

  @Test func relativeToWhereRedirectsLed() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/latest", .redirect(302, to: "/files/urls.txt"))
    origin.route("/files/urls.txt", .file(Self.text("a.bin")))
    let place = try Workplace()
    let result = try await place.dlm("get", origin.url("/latest"), "--list")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names() == ["a.bin"])
  }

  /// As of files.
  @Test(arguments: [201, 203, 250]) func otherSuccesses(status: Int) async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/files/urls.txt", .status(status, body: Self.text("a.bin")))
    let place = try Workplace()
    let result = try await place.dlm("get", origin.url("/files/urls.txt"), "--list")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names() == ["a.bin"])
  }

  @Test(arguments: [(404, Int32(66)), (503, 75), (403, 66), (204, 66)])
  func cannotBeRead(status: Int, exit: Int32) async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/urls.txt", .status(status))
    let place = try Workplace()
    let result = try await place.dlm("get", origin.url("/urls.txt?key=secret"), "--list", "--retries", "0")
    #expect(result.status == exit, "\(result.errorText)")
    #expect(
      result.errorText.contains("/urls.txt") && result.errorText.contains("cannot be read")
        && result.errorText.contains("\(status)"), "\(result.errorText)")
    #expect(!result.errorText.contains("secret"), "\(result.errorText)")
    #expect(try place.names().isEmpty)
  }

  /// The second answer must equal the first; no file is downloaded twice for it.
  @Test func brokenOff() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let list = Self.text("a.bin", "b.bin", "c.bin")
    origin.route("/files/urls.txt", .file(list, FileOptions(ending: .close(after: 9))), .file(list))
    let place = try Workplace()
    let result = try await place.dlm("get", origin.url("/files/urls.txt"), "--list")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names() == ["a.bin", "b.bin", "c.bin"])
    #expect(origin.record.requests(to: "/files/a.bin").count == 1)

    origin.route(
      "/files/urls.txt", .file(list, FileOptions(ending: .close(after: 9))),
      .file(Self.text("x.bin", "b.bin", "c.bin")))
    let changed = try await place.dlm(
      "get", origin.url("/files/urls.txt"), "--list", "-d", "other", "--retries", "1")
    #expect(changed.status == 66 && changed.errorText.contains("has changed"), "\(changed.errorText)")
  }

  /// A list can name any server; what is meant for the list's own is not sent there.
  @Test func headerLinesStayAtHome() async throws {
    let (origin, other) = (try Self.origin(), try Self.origin())
    defer {
      origin.stop()
      other.stop()
    }
    origin.route("/files/urls.txt", .file(Self.text("a.bin", other.url("/files/b.bin"))))
    let place = try Workplace()
    let result = try await place.dlm(
      "get", origin.url("/files/urls.txt"), "--list", "-H", "X-Key: value")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(origin.log.map { $0.headers["x-key"] } == ["value", "value"])
    #expect(other.log.map { $0.headers["x-key"] } == [nil])
  }

  @Test func loginsGoWithRelativeLines() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/files/urls.txt", .behindBasic(.file(Self.text("a.bin"))))
    origin.route("/files/a.bin", .behindBasic(.file([1])))
    let place = try Workplace()
    let address = origin.url("/files/urls.txt").replacing("://", with: "://user:word@")
    let result = try await place.dlm("get", address, "--list")
    #expect(result.status == 0, "\(result.errorText)")
    // Over plain http each transport asks once without it.
    let basic = "Basic dXNlcjp3b3Jk"
    #expect(origin.log.map { $0.headers["authorization"] } == [nil, basic, nil, basic])
    #expect(!result.errorText.contains("word"))
  }

  /// A list at an address may not hide what it brings; what the user wrote may.
  @Test func hiddenNamesAreTheUsers() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let names = [".bash_profile", ".ssh", ".dlm.conf", "%2Enetrc"]
    for name in names { origin.route("/files/\(name)", .file([1])) }
    let list = Self.text(".bash_profile", "/files/.ssh", origin.url("/files/.dlm.conf"), "%2Enetrc")
    origin.route("/files/urls.txt", .file(list))
    let place = try Workplace()
    let result = try await place.dlm("get", origin.url("/files/urls.txt"), "--list", "-d", "out")
    #expect(result.status == 0, "\(result.errorText)")
    let safe = ["_bash_profile", "_dlm.conf", "_netrc", "_ssh"]
    #expect(try place.names(in: "out") == safe)
    let dry = try await place.dlm("get", origin.url("/files/urls.txt"), "--list", "-d", "out", "--dry-run")
    #expect(safe.allSatisfy { dry.outputText.contains("out/\($0)\t") }, "\(dry.outputText)")
    _ = try place.list(names.map { origin.url("/files/\($0)") })
    #expect(try await place.dlm("get", "urls.txt", "-d", "own").status == 0)
    #expect(try place.names(in: "own") == [".bash_profile", ".dlm.conf", ".ssh", "_netrc"])
  }

  // MARK: Bounds

  /// As sent and as decoded, with and without a length.
  @Test(arguments: [false, true], [false, true])
  func tooLong(isCompressed: Bool, isChunked: Bool) async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    var list = Self.text("a.bin") + [UInt8](repeating: 0x0A, count: 300_000)
    if isCompressed { list = try await Self.compressed(list) }
    let framing: FileOptions.Framing = isChunked ? .chunked(size: 500) : .contentLength
    origin.route("/files/urls.txt", .file(list, FileOptions(framing: framing)))
    let place = try Workplace()
    let address = origin.url("/files/urls.txt")
    let result = try await place.dlm("get", address, "--list", "--max-filesize", "200K", "--retries", "0")
    #expect(result.status == 66, "\(result.errorText)")
    #expect(
      result.errorText.contains("urls.txt") && result.errorText.contains("--max-filesize"),
      "\(result.errorText)")
    #expect(try await place.dlm("get", address, "--list", "--max-filesize", "400K").status == 0)
  }

  /// Nothing of it is kept on the disk, so there is no answer, and no question either.
  @Test(arguments: [[], ["--dry-run"]])
  func offline(more: [String]) async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/files/urls.txt", .file(Self.text("a.bin")))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/files/urls.txt"), "--list").status == 0)
    let before = origin.log.count
    let result = try await place.start(
      ["get", origin.url("/files/urls.txt"), "--list", "--offline"] + more
    ).waitForExit()
    #expect(result.status == 66, "\(result.errorText)")
    #expect(
      result.errorText.contains("urls.txt") && result.errorText.contains("without --offline"),
      "\(result.errorText)")
    #expect(origin.log.count == before)
  }

  @Test func namesFilesAtHTTP() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    for (second, lines) in [(origin.url("/files/b.bin"), 1), ("c", 0)] {
      let names = "\(lines == 1 ? origin.url("/files/a.bin") : "d")\n\(second)\n"
      let server = try await TLSOrigin(["/urls.txt": .body(names), "/c": .body("c"), "/d": .body("d")])
      defer { server.stop() }
      let run = try await place.dlm(
        "get", server.url("/urls.txt"), "--list", "--cacert", server.certificatePath)
      #expect(run.status == 0, "\(run.errorText)")
      let told = run.errorText.split(separator: "\n").filter { $0.contains("names http URLs") }
      #expect(told.count == lines && told.allSatisfy { $0.contains("/urls.txt") }, "\(run.errorText)")
    }
  }

  // MARK: Compressed

  private static func compressed(_ bytes: [UInt8], by program: String = "gzip") async throws -> [UInt8] {
    let folder = try TemporaryFolder()
    let path = try folder.write(bytes, to: "list")
    let run = try await CommandRun.result(of: program, ["-c", path])
    #expect(run.status == 0, "\(run.errorText)")
    return run.output
  }

  /// By its magic number, whatever it is called and wherever it comes from; two in a row are one.
  @Test(arguments: [
    ("urls.txt.gz", "gzip"), ("urls.txt", "xz"), ("-", "gzip"), ("--list", "zstd"),
  ]) func compressedLists(source: String, program: String) async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let list =
      try await Self.compressed(Self.text(origin.url("/files/a.bin"), origin.url("/files/b.bin")), by: program)
      + Self.compressed(Self.text(origin.url("/files/c.bin")), by: program) + [0, 0, 0, 0]
    let place = try Workplace()
    try place.folder.write(list, to: "work/\(source.hasPrefix("-") ? "unused" : source)")
    origin.route("/files/urls", .file(list))
    let arguments = source == "--list" ? [source, origin.url("/files/urls")] : [source]
    let result = try await place.start(
      ["get", "-d", "out"] + arguments, input: .bytes(source == "-" ? list : [])
    ).waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names(in: "out") == ["a.bin", "b.bin", "c.bin"])
    let again = try await place.dlm("get")
    #expect(again.status == 0 && again.errorText.contains("up to date: 3 files"), "\(again.errorText)")
  }

  /// What stands before the damage is read; the message says where that is.
  @Test func damaged() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let first = try await Self.compressed(Self.text(origin.url("/files/a.bin")))
    let second = try await Self.compressed(Self.text(origin.url("/files/b.bin")))
    var flipped = second
    flipped[second.count - 8] ^= 1
    let frame = try await Self.compressed(Self.text(origin.url("/files/a.bin")), by: "zstd")
    let cases: [([UInt8], String)] = [
      (first + second.dropLast(6), "breaks off"), (first + flipped, "damaged"),
      (first + [0, 0, 7], "other bytes after the compressed data"), (first + Array("plain".utf8), "damaged"),
      (frame + frame.dropLast() + [~frame[frame.count - 1]], "damaged"), (frame + frame.dropLast(), "breaks off"),
    ]
    for (bytes, words) in cases {
      let place = try Workplace()
      try place.folder.write(bytes, to: "work/urls.gz")
      let result = try await place.dlm("get", "urls.gz", "-d", "out")
      #expect(result.status == 66, "\(result.errorText)")
      #expect(result.errorText.contains("urls.gz:"), "\(result.errorText)")
      #expect(result.errorText.contains(words), "\(result.errorText)")
      #expect(try place.names(in: "out").first == "a.bin")
      let again = try await place.dlm("get")
      #expect(again.status == 64, "half a list is none: \(again.errorText)")
    }
  }

  /// A few bytes that stand for many are decoded as they are wanted.
  @Test(arguments: [("gzip", 20_000_000), ("zstd", 60_000_000)])
  func whatIsWellCompressedCostsNoMemory(program: String, length: Int) async throws {
    let bytes = try await Self.compressed([UInt8](repeating: UInt8(ascii: "#"), count: length), by: program)
    var decoder = ListDecoder()
    try decoder.take(bytes)
    var (count, most) = (0, 0)
    while decoder.isPending {
      let text = try decoder.next()
      (count, most) = (count + text.count, max(most, text.count))
    }
    try decoder.take([])
    #expect(count == length)
    #expect(most <= 100_000)
  }

  /// Some bytes that stand for hundreds of MiB kept a run busy for as long as it takes to read so many empty lines.
  @Test(arguments: ["zstd", "xz"])
  func whatExpandsTooMuchEnds(program: String) async throws {
    let bytes = try await Self.compressed([UInt8](repeating: 0x0A, count: 80 << 20), by: program)
    var decoder = ListDecoder()
    try decoder.take(bytes)
    let error = try #require(throws: DownloadError.self) { while decoder.isPending { _ = try decoder.next() } }
    #expect(error.reason.contains("200 times"), "\(error)")
  }

  /// However the bytes come.
  @Test(arguments: [1, 2, 3, 1000])
  func inPieces(size: Int) async throws {
    let text = SplitMix64.bytes(count: 5000, seed: 3)
    let compressed = [
      try await Self.compressed(text), try await Self.compressed(text, by: "zstd"),
      try await Self.compressed(text, by: "xz"),
    ]
    for bytes in compressed + [Array("# plain\n".utf8), [0x1F], [0xFD, 0x37, 0x7A], []] {
      var decoder = ListDecoder()
      var result: [UInt8] = []
      var rest = bytes[...]
      while true {
        try decoder.take(Array(rest.prefix(size)))
        while decoder.isPending { result += try decoder.next() }
        if rest.isEmpty { break }
        rest = rest.dropFirst(size)
      }
      #expect(result == (bytes.count > 100 ? text : bytes))
    }
  }
}
