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
    let file = RunningDownloadsFile(in: path)
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
    let file = RunningDownloadsFile(in: path)
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
    let file = RunningDownloadsFile(in: path)
    await file.write(try running())
    #expect(RunningDownloads.all(in: path).count == 1)
    await file.remove()
    #expect(try folder.names(in: "running").isEmpty)
  }

  /// One that was replaced while another process looked is not taken for a dead one's.
  @Test func manyLooksDuringManyReplacements() async throws {
    let file = RunningDownloadsFile(in: path)
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
}
