import Foundation
import TestSupport
import Testing

@Suite("Sizes that a list declares: a file of another length fails")
struct DeclaredSizesTests {
  private static let body = SplitMix64.bytes(count: 3000, seed: 44)

  /// How each format says a size, of the file `/f`.
  enum Format: String, CaseIterable, Sendable {
    case lines, table, json, metalink, bag, apt

    func list(_ url: String, _ size: Int) -> (name: String, text: String, options: [String]) {
      switch self {
      case .lines: ("urls.txt", "\(url)\tsize=\(size)\n", [])
      case .table: ("t.csv", "url,bytes\n\(url),\(size)\n", ["--size-field", "bytes"])
      case .json: ("t.json", "[{\"url\": \"\(url)\", \"bytes\": \(size)}]", ["--size-field", "bytes"])
      case .metalink:
        ("f.meta4", "<metalink><file name=\"f\"><size>\(size)</size><url>\(url)</url></file></metalink>", [])
      case .bag: ("fetch.txt", "\(url) \(size) f\n", [])
      case .apt: ("apt.txt", "'\(url)' f \(size)\n", [])
      }
    }
  }

  private static func options(_ framing: FileOptions.Framing, etag: String? = "\"1\"") -> FileOptions {
    FileOptions(etag: etag, framing: framing)
  }

  @Test(
    arguments: Format.allCases,
    [FileOptions.Framing.contentLength, .chunked(size: 700), .closeDelimited])
  func anotherLengthFails(format: Format, framing: FileOptions.Framing) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.body, Self.options(framing)))
    for (size, isRight) in [(2999, false), (3001, false), (0, format == .apt), (3000, true)] {
      let place = try Workplace()
      let list = format.list(origin.url("/f"), size)
      _ = try place.folder.write(Array(list.text.utf8), to: "work/\(list.name)")
      let before = origin.log.count
      let run = try await place.start(["get", list.name, "--list"] + list.options).waitForExit()
      #expect(run.status == (isRight ? 0 : 1), "\(size): \(run.errorText)")
      #expect(try place.names() == (isRight ? ["f", list.name] : [list.name]).sorted(), "\(size)")
      if isRight { continue }
      #expect(run.errorText.contains("expected \(size) bytes, got "), "\(run.errorText)")
      if framing == .contentLength { #expect(run.errorText.contains("got 3000"), "\(run.errorText)") }
      #expect(run.errorText.contains(origin.url("/f")), "\(run.errorText)")
      #expect(origin.log.count <= before + 2, "asked again")
    }
  }

  /// The headers tell: no byte of the body is waited for, and another address may have the file.
  @Test func theHeadDecidesAndAMirrorMayDoBetter() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/page", .file(Self.body, FileOptions(ending: .stall(after: 10))))
    origin.route("/good", .file(Array(Self.body.dropLast())))
    let place = try Workplace()
    _ = try place.list(["\(origin.url("/page"))\tsize=2999\tmirror=\(origin.url("/good"))"])
    let run = try await place.dlm("get", "urls.txt")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("page").count == 2999)
    #expect(origin.record.requests(to: "/page").count == 1)
  }

  /// An estimate decides nothing.
  @Test(arguments: ["size=12K", "size=1.5M"])
  func withAUnit(size: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.body))
    let place = try Workplace()
    let run = try await place.dlm("get", "-", input: Array("\(origin.url("/f"))\t\(size)\n".utf8))
    #expect(run.status == 0, "\(run.errorText)")
    let feed =
      "<rss version='2.0'><channel><item><enclosure url='\(origin.url("/f"))' length='7'/></item></channel></rss>"
    let piped = try await place.dlm("get", "-", "-d", "feed", input: Array(feed.utf8))
    #expect(piped.status == 0, "\(piped.errorText)")
    // The list that is kept of the pipe says no more than the pipe did.
    let again = try await place.dlm("get", "--refresh", "-d", "feed")
    #expect(again.status == 0, "\(again.errorText)")
  }

  /// What exists with another length is no answer: it is downloaded again, or that fails.
  @Test(arguments: [["--max-stale", "9"], ["--revalidate"], [], ["--offline"]])
  func whatIsHere(options: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let fresh = FileOptions(etag: "\"1\"", headers: ["Cache-Control: max-age=1000"])
    origin.route("/f", .file(Self.body, fresh))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    for folder in [".", "copy"] {
      _ = try place.list(["\(origin.url("/f"))\tsize=3000"])
      let same = try await place.start(["get", "urls.txt", "-d", folder] + options).waitForExit()
      #expect(same.status == 0, "\(same.errorText)")
      _ = try place.list(["\(origin.url("/f"))\tsize=2999"])
      let other = try await place.start(["get", "urls.txt", "-d", folder] + options).waitForExit()
      #expect(other.status == 1 && other.errorText.contains("expected 2999 bytes, got 3000"), "\(other.errorText)")
      #expect(try place.file("f") == Self.body)
    }
    if options == ["--offline"] { return }
    // The server has the declared version by now.
    origin.route("/f", .file(Array(Self.body.dropLast()), FileOptions(etag: "\"2\"")))
    let right = try await place.start(["get", "urls.txt"] + options).waitForExit()
    #expect(right.status == 0, "\(right.errorText)")
    #expect(try place.file("f").count == 2999)
  }

  /// Of two lines for one URL each is judged by its own size.
  @Test func twoLinesOfOneURL() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.body))
    let place = try Workplace()
    _ = try place.list(["\(origin.url("/f"))\tsize=3000", "\(origin.url("/f"))\tsize=2999"])
    let run = try await place.dlm("get", "urls.txt")
    #expect(run.status == 1 && run.errorText.contains("expected 2999 bytes, got 3000"), "\(run.errorText)")
    #expect(try place.names() == ["f", "urls.txt"])
  }

  /// Also by its own type: the second line was answered from memory, whatever its bytes.
  @Test(arguments: ["sequential", "parallel"]) func twoLinesWithATypeEach(mode: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.body))
    let place = try Workplace()
    _ = try place.list([origin.url("/f"), "\(origin.url("/f"))\texpect=application/pdf"])
    let run = try await place.dlm("get", "urls.txt", "-m", mode)
    #expect(run.status == 1 && run.errorText.contains("expected application/pdf"), "\(run.errorText)")
    #expect(try place.names() == ["f", "urls.txt"])
  }

  /// A large file, filled by several transfers, and one that an earlier run began.
  @Test(arguments: [6 << 20, (6 << 20) - 1])
  func splitAndResumed(size: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 6 << 20, seed: 6)
    let whole = FileOptions(etag: "\"1\"")
    origin.route("/split", .file(body, whole))
    origin.route("/part", .file(body, FileOptions(etag: "\"1\"", ending: .close(after: 2 << 20))))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/part"), "--retries", "0", "-s", "1").status == 75)
    origin.route("/part", .file(body, whole))
    _ = try place.list(["/split", "/part"].map { "\(origin.url($0))\tsize=\(size)" })
    let run = try await place.dlm("get", "urls.txt", "-s", "4")
    let isRight = size == body.count
    #expect(run.status == (isRight ? 0 : 1), "\(run.errorText)")
    let names = try place.names().filter { !$0.contains(".part") }
    #expect(names == (isRight ? ["part", "split", "urls.txt"] : ["urls.txt"]))
  }

  /// Nothing goes to standard output that may have another length.
  @Test func standardOutput() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.body, FileOptions(etag: nil, framing: .chunked(size: 700))))
    let place = try Workplace()
    let run = try await place.dlm("get", "\(origin.url("/f"))\tsize=3001", "--output", "-")
    #expect(run.status != 0 && run.output.isEmpty, "\(run.errorText)")
  }
}
