import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

/// The other user is played by the test: whoever may write a folder may rename what is in it, whosever that is.
@Suite("A scratch folder in a folder that others may write (HTTP rule 53)")
struct ScratchFolderTests {
  private static let body = SplitMix64.bytes(count: 3 << 20, seed: 11)

  /// A folder of the user's, whose files must stay.
  private struct Home {
    let folder: TemporaryFolder
    private static let files = ["precious", "files/precious", "parallel-1/precious", "index/precious"]

    init() throws {
      folder = try TemporaryFolder()
      for name in ["files", "parallel-1", "index"] { try folder.makeFolder(name) }
      for name in Self.files { try folder.write("mine", to: name) }
    }

    func expectUntouched() throws {
      #expect(try folder.names() == ["files", "index", "parallel-1", "precious"])
      for name in Self.files { #expect(try folder.text(name) == "mine", "\(name)") }
      for name in ["files", "parallel-1", "index"] { #expect(try folder.names(in: name) == ["precious"], "\(name)") }
    }
  }

  /// Moves the scratch folder of a run aside, and puts a link under its name.
  private static func swap(in parent: String, _ target: String) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: parent).filter { $0.contains("dlm-compare-") }
    let name = try #require(names.first)
    try #require(rename("\(parent)/\(name)", "\(parent)/moved") == 0)
    try #require(symlink(target, "\(parent)/\(name)") == 0)
  }

  enum Use: CaseIterable { case repeated, compared }

  @Test(arguments: Use.allCases) func aLinkUnderItsNameLeadsNowhere(use: Use) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let home = try Home()
    let temporary = try TemporaryFolder()
    let place = try Workplace(["TMPDIR": temporary.path])
    let stalled = OriginAnswer.file(Self.body, FileOptions(ending: .stall(after: 1 << 20, until: gate)))
    var arguments = ["compare", "urls.txt", "--runs", "1", "-m", "parallel", "-s", "1"]
    var parent = temporary.path
    _ = try place.list([origin.url("/a")])
    if use == .repeated {
      origin.route("/a", .file(Self.body))
      #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
      arguments = ["get", "-m", "sequential"]
      parent = "\(place.work)/out"
    }
    origin.route("/a", script: [stalled, .file(Self.body)])
    let before = origin.log.count { $0.path == "/a" }
    let run = try place.start(arguments)
    try await origin.wait(forRequests: before + 1, path: "/a")
    try Self.swap(in: parent, home.folder.path)
    gate.open()
    let end = try await run.waitForExit()
    #expect(end.status == 0, "\(end.errorText)")
    try home.expectUntouched()
    #expect(end.errorText.contains("was renamed while dlm used it"), "\(end.errorText)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(parent)/moved").isEmpty)
    if use == .repeated { #expect(end.errorText.contains("1 file identical"), "\(end.errorText)") }
  }

  /// What goes to standard output is what was verified, not what another user put under its path.
  @Test func whatIsWrittenIsWhatCame() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/a", .file(Self.body, FileOptions(ending: .stall(after: 1 << 20, until: gate))))
    let temporary = try TemporaryFolder()
    let evil = try TemporaryFolder()
    try evil.makeFolder("files")
    _ = try evil.write([UInt8](repeating: 66, count: Self.body.count), to: "files/a")
    let place = try Workplace(["TMPDIR": temporary.path])
    var hasher = ContentHasher(.sha256)
    hasher.update(Self.body)
    let run = try place.start(["get", "-o", "-", "-s", "1", origin.url("/a"), "--checksum", "\(hasher.finish())"])
    try await origin.wait(forRequests: 1)
    try Self.swap(in: temporary.path, evil.path)
    gate.open()
    let end = try await run.waitForExit()
    #expect(end.status == 0 && end.output == Self.body, "\(end.errorText)")
    #expect(try evil.names(in: "files") == ["a"])
  }

  /// What a killed run left is removed, but nothing behind a link in it, and no folder that only looks like one.
  @Test func whatAKilledRunLeft() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]), .file([UInt8](repeating: 1, count: 5000), FileOptions(ending: .stall(after: 10))))
    let home = try Home()
    let temporary = try TemporaryFolder()
    let place = try Workplace(["TMPDIR": temporary.path])
    origin.route("/stalls", .file([1, 2], FileOptions(ending: .stall(after: 1))))
    let killed = try place.start(["compare", origin.url("/stalls")])
    try await origin.wait(forRequests: 1, path: "/stalls")
    killed.send(SIGKILL)
    _ = try await killed.waitForExit()
    let left = try #require(try temporary.names().first)
    try temporary.link("\(left)/link", to: home.folder.path)
    try temporary.makeFolder("\(left)/deep")
    try temporary.link("\(left)/deep/link", to: home.folder.path)
    try temporary.makeFolder("dlm-compare-mine")
    _ = try temporary.write([1], to: "dlm-compare-mine/.dlm-scratch")
    chmod(temporary.path("dlm-compare-mine"), 0o770)
    try temporary.link("dlm-compare-link", to: home.folder.path)
    let next = try await place.dlm("compare", origin.url("/a"), "--runs", "1", "-m", "parallel")
    #expect(next.status == 0, "\(next.errorText)")
    #expect(try temporary.names().sorted() == ["dlm-compare-link", "dlm-compare-mine"])
    try home.expectUntouched()
  }
}
