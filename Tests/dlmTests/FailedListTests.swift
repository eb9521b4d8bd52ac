import Foundation
import Glibc
import TestSupport
import Testing

@Suite("--failed writes one file, and touches no other", .serialized)
struct FailedListTests {
  /// `X.part` was once emptied and renamed away, whoever it belonged to, and through links too.
  @Test func bystandersStay() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.folder.write(Array("mine".utf8), to: "work/again.txt.part")
    _ = try place.folder.write(Array("before".utf8), to: "work/again.txt")
    let run = try await place.dlm("get", origin.url("/none?token=t"), "--failed", "again.txt")
    #expect(run.status == 1)
    #expect(try String(decoding: place.file("again.txt.part"), as: UTF8.self) == "mine")
    let list = String(decoding: try place.file("again.txt"), as: UTF8.self)
    // A list that can be fetched again, signatures and all; so nobody else may read it.
    #expect(list.hasSuffix("\n\(origin.url("/none?token=t"))\n"), "\(list)")
    let rights = try FileManager.default.attributesOfItem(atPath: "\(place.work)/again.txt")[
      .posixPermissions]
    #expect(rights as? Int == 0o600)
    #expect(try place.names() == ["again.txt", "again.txt.part"])
    // What cannot be written leaves nothing behind, and the old list as it was.
    let again = try await place.dlm("get", origin.url("/none"), "--failed", "no/again.txt")
    #expect(again.errorText.contains("no/again.txt cannot be written"), "\(again.errorText)")
    #expect(try place.names() == ["again.txt", "again.txt.part"])
  }

  @Test func linksAreRefusedBeforeTheRun() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.folder.write(Array("mine".utf8), to: "work/target")
    for (name, target) in [("link", "target"), ("again.txt.part", "target"), ("dangling", "nowhere")] {
      try FileManager.default.createSymbolicLink(
        atPath: "\(place.work)/\(name)", withDestinationPath: target)
    }
    for name in ["link", "dangling", "."] {
      let run = try await place.dlm("get", origin.url("/none"), "--failed", name)
      #expect(run.status == 64 && run.errorText.contains("--failed \(name) is a"), "\(run.errorText)")
    }
    #expect(origin.log.isEmpty)
    #expect(try await place.dlm("get", origin.url("/none"), "--failed", "again.txt").status == 1)
    #expect(try String(decoding: place.file("target"), as: UTF8.self) == "mine")
    #expect(try place.names() == ["again.txt", "again.txt.part", "dangling", "link", "target"])
  }

  /// Streams are written as they are: what a shell's `>(…)` gives, a pipe, standard output.
  @Test func streams() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let dlm = try DLMExecutable.path()
    let url = origin.url("/none")
    for script in [
      "exec \"$0\" get \(url) --failed /dev/stdout", "exec \"$0\" get \(url) --failed /dev/fd/3 3>&1",
      "mkfifo pipe; cat pipe & \"$0\" get \(url) --failed pipe; status=$?; wait; exit $status",
      "\"$0\" get \(url) --failed /dev/stdout > file; status=$?; cat file; exit $status",
    ] {
      let run = try await place.start("sh", ["-c", script, dlm]).waitForExit()
      #expect(run.status == 1, "\(run.errorText)")
      #expect(run.outputText.contains("404 Not Found") && run.outputText.hasSuffix("\(url)\n"), "\(script)")
    }
  }
}
