import DownloadModel
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching

@Suite("What a process has under way, told to others for as long as it lives")
struct RunningDownloadsTests {
  private let folder: TestSupport.TemporaryFolder
  private var path: FilePath { FilePath(folder.path("running")) }

  init() throws { folder = try TestSupport.TemporaryFolder() }

  private func running(files: Int = 1, done: Int = 3) throws -> RunningDownloads {
    let feed = ProgressFeed()
    let reader = feed.reader(of: .files)
    feed.listed(40, complete: false)
    for id in 0..<files {
      let request = DownloadRequest(id: id, address: try Address("http://u:p@h/f\(id)?token=secret"))
      let meter = feed.start(request)
      meter.begin(at: 5, total: id == 0 ? 100 : nil)
      meter.add(10)
    }
    for id in 0..<done {
      feed.end(
        DownloadRequest(id: 1000 + id, address: try Address("http://h/d")),
        .success(DownloadOutcome(kind: .fetched, path: "d", size: 7)))
    }
    return RunningDownloads(reader.take(), directory: "/out", rate: 12)
  }

  @Test func tellsHowFarItIs() throws {
    let running = try running(files: 11)
    #expect((running.done, running.failed, running.listed, running.listIsComplete) == (3, 0, 40, false))
    #expect(running.bytes == 3 * 7 + 11 * 15)
    #expect(running.active.count == 8 && running.more == 3)
    #expect(running.active[0].bytes == 15 && running.active[0].total == 100)
    #expect(running.active[1].total == nil)
    #expect(!running.active[0].url.contains("secret") && !running.active[0].url.contains("u:p"))
  }

  @Test func isReadWhileItsProcessLives() async throws {
    #expect(RunningDownloads.all(in: path).isEmpty)
    #expect(!FileManager.default.fileExists(atPath: path.string))
    let file = RunningDownloads.SnapshotFile(in: path)
    await file.remove()
    for done in 1...3 {
      let snapshot = try running(done: done)
      await file.write(snapshot)
      #expect(RunningDownloads.all(in: path) == [snapshot])
      #expect(try folder.names(in: "running") == ["\(getpid()).json"])
    }
    for (name, mode) in [("running", 0o700), ("running/\(getpid()).json", 0o600)] {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
      #expect(attributes[.posixPermissions] as? Int == mode)
    }
    await file.remove()
    #expect(RunningDownloads.all(in: path).isEmpty)
    #expect(try folder.names(in: "running").isEmpty)
  }

  /// Its number may be a living process's by now: only the lock says whose the file is.
  @Test func whatAKilledProcessLeftIsRemoved() async throws {
    let file = RunningDownloads.SnapshotFile(in: path)
    let snapshot = try running()
    await file.write(snapshot)
    let json = try folder.read("running/\(getpid()).json")
    _ = try folder.write(json, to: "running/1.json")
    _ = try folder.write(Array("{}".utf8), to: "running/2.json")
    _ = try folder.write(json, to: "running/1.json.old")
    #expect(RunningDownloads.all(in: path) == [snapshot])
    // What is none of its own stays.
    #expect(try folder.names(in: "running") == ["1.json.old", "2.json", "\(getpid()).json"].sorted())
    await file.remove()
  }

  @Test func aDraftThatAKilledProcessLeftIsInNobodysWay() async throws {
    _ = try folder.write([1], to: "running/\(getpid()).json.new")
    let file = RunningDownloads.SnapshotFile(in: path)
    await file.write(try running())
    #expect(RunningDownloads.all(in: path).count == 1)
    await file.remove()
    #expect(try folder.names(in: "running").isEmpty)
  }

  /// One that was replaced while another process looked is not taken for a dead one's.
  @Test func manyLooksDuringManyReplacements() async throws {
    let file = RunningDownloads.SnapshotFile(in: path)
    let snapshot = try running()
    await file.write(snapshot)
    await withTaskGroup { group in
      for _ in 0..<2 {
        group.addTask { [path] in
          for _ in 0..<300 { #expect(RunningDownloads.all(in: path).count <= 1) }
        }
      }
      for _ in 0..<300 { await file.write(snapshot) }
    }
    #expect(RunningDownloads.all(in: path) == [snapshot])
    await file.remove()
  }

  /// Two processes at once wait for one another; both are answered.
  @Test func addressesAreAdded() async throws {
    let file = RunningDownloads.SnapshotFile(in: path)
    let snapshot = try running()
    await file.write(snapshot)
    async let one = snapshot.add(["http://h/1", "http://h/2"], in: path)
    async let other = snapshot.add(["http://h/3"], in: path)
    let taken = Monitor([[String]]())
    while taken.withState({ $0.count }) < 2 {
      await file.takeAdded { addresses in
        taken.withState { $0.append(addresses) }
        return (addresses.count, 1)
      }
    }
    #expect([try await one?.added, try await other?.added] == [2, 1])
    #expect(try await one?.known == 1)
    #expect(taken.withState { $0.flatMap(\.self).sorted() } == ["http://h/1", "http://h/2", "http://h/3"])
    #expect(try folder.names(in: "running") == ["\(getpid()).json"])
    await file.remove()
  }

  /// The story: a `dlm add` that was killed before it had written its URLs held up each later one until the run ended.
  @Test(arguments: ["", "http://h/dead\n"]) func aKilledAddHoldsUpNoOther(left: String) async throws {
    let file = RunningDownloads.SnapshotFile(in: path)
    let snapshot = try running()
    await file.write(snapshot)
    _ = try folder.write(Array(left.utf8), to: "running/\(getpid()).add")
    async let answer = snapshot.add(["http://h/1"], in: path)
    let taken = Monitor([String]())
    while taken.withState({ $0.isEmpty }) {
      await file.takeAdded { addresses in
        taken.withState { $0 = addresses }
        return (addresses.count, 0)
      }
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(try await answer?.added == 1 && taken.withState { $0 } == ["http://h/1"])
    await file.remove()
    #expect(try folder.names(in: "running").isEmpty)
  }

  /// All that a command line can hold; of the first mebibyte alone the run took nothing.
  @Test func manyAddressesAreAdded() async throws {
    let file = RunningDownloads.SnapshotFile(in: path)
    let snapshot = try running()
    await file.write(snapshot)
    let many = (0..<30_000).map { "http://h/\(String(repeating: "x", count: 60))\($0)" }
    async let answer = snapshot.add(many, in: path)
    let taken = Monitor([String]())
    while taken.withState({ $0.isEmpty }) {
      await file.takeAdded { addresses in
        taken.withState { $0 = addresses }
        return (addresses.count, 0)
      }
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(try await answer?.added == many.count)
    #expect(taken.withState { $0 } == many)
    await file.remove()
  }

  /// Whoever adds at the end learns that nothing was taken.
  @Test(arguments: [true, false]) func aRunThatEndsTakesNone(looks: Bool) async throws {
    let file = RunningDownloads.SnapshotFile(in: path)
    let snapshot = try running()
    await file.write(snapshot)
    async let answer = snapshot.add(["http://h/1"], in: path)
    while try folder.names(in: "running").count < 2 { try await Task.sleep(for: .milliseconds(1)) }
    if looks { await file.takeAdded { _ in nil } }
    await file.remove()
    #expect(try await answer == nil)
    #expect(try folder.names(in: "running").isEmpty)
    #expect(try await snapshot.add(["http://h/1"], in: path) == nil)
  }

  /// Left for a killed process with the same number, half written, a link, or another name of somebody's file.
  @Test func whatIsNoInboxIsNotTaken() async throws {
    let (inbox, text) = ("running/\(getpid()).add", Array("http://h/1\n\n".utf8))
    _ = try folder.write(text, to: inbox)
    let file = RunningDownloads.SnapshotFile(in: path)
    await file.takeAdded { _ in (9, 9) }
    await file.write(try running())
    #expect(try folder.names(in: "running") == ["\(getpid()).json"])
    let elsewhere = try folder.write(text, to: "elsewhere")
    for make in [
      { _ = try folder.write(Array("http://h/1\n".utf8), to: inbox) }, { _ = symlink(elsewhere, folder.path(inbox)) },
      { _ = link(elsewhere, folder.path(inbox)) },
    ] {
      try make()
      await file.takeAdded { _ in (9, 9) }
      #expect(unlink(folder.path(inbox)) == 0)
    }
    #expect(try folder.read("elsewhere") == text)
    await file.remove()
  }
}
