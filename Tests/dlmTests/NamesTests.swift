import Foundation
import TestSupport
import Testing

@Suite("A name of the server's or the address's making stays in the output folder (HTTP rules 21 and 22)")
struct NamesTests {
  /// All that stands below the user's place, but for dlm's own folders.
  private static func files(_ place: Workplace) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: place.work).sorted()
  }

  /// `/` with a combining mark behind it was no `/` where names were split by `Character`: the first wrote
  /// beside the output folder, the second went for the root of the file system.
  @Test(arguments: [
    ("/..%2F%CC%81pwned", "\u{301}pwned"), ("/%2F%CC%81root", "\u{301}root"),
    ("/..%D8%80%2F..%E2%80%8D%2Fpwned", "pwned"),
  ])
  func anAddress(path: String, name: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(path, .file([1, 2, 3]))
    let place = try Workplace()
    let run = try await place.dlm("get", "-d", "out", origin.url(path))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try Self.files(place) == ["out", "out/\(name)"])
  }

  /// The same in a header wrote into a folder that was there.
  @Test func aHeader() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f",
      .file([1], FileOptions(headers: ["Content-Disposition: attachment; filename*=UTF-8''sub%2F%CC%81x"])))
    let place = try Workplace()
    try FileManager.default.createDirectory(
      atPath: place.work + "/out/sub", withIntermediateDirectories: true)
    let run = try await place.dlm("get", "-d", "out", origin.url("/f"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try Self.files(place) == ["out", "out/sub", "out/\u{301}x"])
  }

  @Test func noneIsHidden() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f",
      .file([1], FileOptions(headers: ["Content-Disposition: attachment; filename*=UTF-8''.%CC%81bashrc"])))
    let place = try Workplace()
    let run = try await place.dlm("get", "-d", "out", origin.url("/f"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try Self.files(place) == ["out", "out/_\u{301}bashrc"])
  }

  /// One line says it, whoever had the name: another address of the list, another one's suggestion, or the user.
  @Test func numbered() async throws {
    let (origin, place) = (try FaultyOrigin(), try Workplace())
    defer { origin.stop() }
    let paths = ["/a/data.csv", "/b/data.csv", "/c/data.csv", "/d/notes.txt", "/e", "/f"]
    let named = FileOptions(headers: ["Content-Disposition: attachment; filename=named.txt"])
    for (index, path) in paths.enumerated() {
      origin.route(path, .file([UInt8(index)], path.hasPrefix("/e") || path == "/f" ? named : FileOptions()))
    }
    _ = try place.folder.write(Array("mine".utf8), to: "work/notes.txt")
    let command = ["get", "-j", "1", "--progress", "plain"] + paths.map { origin.url($0) }
    let run = try await place.start(command).waitForExit()
    #expect(run.status == 0)
    let line = "  Numbered, because the name was taken: data.1.csv, data.2.csv, notes.1.txt and 1 more\n"
    #expect(run.errorText.contains(line), "\(run.errorText)")
    #expect(run.errorText.components(separatedBy: "taken").count == 2 && !run.errorText.contains("was there"))
    #expect(try place.names().contains("named.1.txt"))
    let again = try await place.start(command).waitForExit()
    #expect(!again.errorText.contains("Numbered"), "\(again.errorText)")
  }
}
