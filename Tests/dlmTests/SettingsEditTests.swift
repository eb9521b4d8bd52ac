import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("dlm config set and unset change one setting of the user's own file", .serialized)
struct SettingsEditTests {
  private static let path = "home/config/dlm/dlm.conf"

  private static func place(_ text: String, _ more: [String: String] = [:]) throws -> Workplace {
    let place = try Workplace(more)
    _ = try place.folder.write(Array(text.utf8), to: path)
    return place
  }

  private static func text(_ place: Workplace) throws -> String {
    String(decoding: try place.folder.read(path), as: UTF8.self)
  }

  struct Row: Sendable {
    let before: String
    let words: [String]
    let after: String
    let says: String
  }

  static let rows = [
    Row(before: "", words: ["set", "jobs", "8"], after: "jobs = 8\n", says: "jobs = 8 (was not set)"),
    Row(before: "mode = auto", words: ["set", "jobs", "8"], after: "mode = auto\njobs = 8\n", says: "(was not set)"),
    // Comments and their order stay.
    Row(
      before: "# mine\n\n jobs=3 \n# mode = auto\n# end\n", words: ["set", "jobs", "8"],
      after: "# mine\n\njobs = 8\n# mode = auto\n# end\n", says: "jobs = 8 (was 3)"),
    Row(
      before: "jobs = 3\nmode = auto\njobs = 4\n", words: ["set", "jobs", "auto"], after: "jobs = auto\nmode = auto\n",
      says: "jobs = auto (was 3"),
    Row(
      before: "# a\njobs = 3\r\n", words: ["set", "user-agent", "My agent"],
      after: "# a\njobs = 3\nuser-agent = My agent\n",
      says: "user-agent = My agent"),
    // Lines behind [host] are that host's.
    Row(
      before: "jobs = 3\n\n# theirs\n[h]\nretry-on = 403\n", words: ["set", "retry-on", "5xx", "404"],
      after: "jobs = 3\nretry-on = 5xx\nretry-on = 404\n\n# theirs\n[h]\nretry-on = 403\n", says: "(was not set)"),
    Row(
      before: "retry-on = 404\n  [h]\nretry-on = 403\n", words: ["unset", "retry-on"], after: "  [h]\nretry-on = 403\n",
      says: "retry-on unset (was 404)"),
    // A wrong line can be removed.
    Row(
      before: "jobs = many\nmode = auto\n", words: ["unset", "jobs"], after: "mode = auto\n",
      says: "jobs unset (was many)"),
    Row(
      before: "mode = auto\n", words: ["unset", "jobs"], after: "mode = auto\n", says: "jobs unset (was not set)"),
    Row(
      before: "header = A: CANARY\n", words: ["set", "header", "B: CANARY"], after: "header = B: CANARY\n",
      says: "header = B: … (was A: …)"),
  ]

  @Test(arguments: rows) func aSettingIsChanged(row: Row) async throws {
    let place = try Self.place(row.before)
    let run = try await place.start(["config"] + row.words).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try Self.text(place) == row.after)
    #expect(run.outputText.hasPrefix("\(place.folder.path(Self.path)): "), "\(run.outputText)")
    #expect(run.outputText.contains(row.says) && !run.outputText.contains("CANARY"), "\(run.outputText)")
  }

  @Test(
    arguments: [
      (["set", "jbos", "8"], "\"jbos\" is not a setting: did you mean jobs?"),
      (["unset", "output"], "\"output\" is not a setting"), (["set", "jobs"], "dlm config set NAME VALUE"),
      (["set"], "dlm config set NAME VALUE"), (["unset", "jobs", "8"], "dlm config unset NAME"),
      (["set", "jobs", "many"], "\"many\" is not a value for jobs; use a number from 1, or auto"),
      (["set", "mode", "paralel"], "Did you mean parallel?"), (["set", "jobs", "100000"], "is too many"),
      (["set", "jobs", "1", "2"], "jobs takes one value"), (["set", "jobs", ""], "jobs has no value"),
      (["set", "jobs", "8\ninsecure = yes"], "on one line"),
      (["set", "header", "A: b\r\ninsecure = yes"], "on one line"),
      (["set", "cacert", "none.pem"], "none.pem cannot be read"), (["set", "proxy", "ftp://u:CANARY@h"], "proxy"),
      (["set", "header", "Authorization CANARY"], "header"),
    ]) func aMistakeChangesNothing(words: [String], says: String) async throws
  {
    let text = "# mine\njobs = 3\n"
    let place = try Self.place(text)
    let run = try await place.start(["config"] + words).waitForExit()
    #expect(run.status == 64 && run.errorText.contains(says), "\(run.errorText)")
    #expect(!run.errorText.contains("CANARY") && run.outputText.isEmpty, "\(run.errorText)")
    #expect(try Self.text(place) == text)
  }

  /// A link is a dotfile manager's, and the folder may be missing.
  @Test func theFileIsMadeOrItsLinkFollowed() async throws {
    let place = try Workplace(["DLM_MODE": "sequential"])
    let made = try await place.dlm("config", "set", "mode", "auto")
    #expect(made.status == 0 && made.errorText.contains("DLM_MODE sets mode too, and is stronger"), "\(made.errorText)")
    #expect(try Self.text(place) == "mode = auto\n")
    let file = place.folder.path(Self.path)
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    try FileManager.default.moveItem(atPath: file, toPath: place.folder.path("own.conf"))
    try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: place.folder.path("own.conf"))
    #expect(try await place.dlm("config", "set", "jobs", "8").status == 0)
    #expect(try String(decoding: place.folder.read("own.conf"), as: UTF8.self) == "mode = auto\njobs = 8\n")
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.type] as? FileAttributeType == .typeSymbolicLink)
    // What others may have written is not taken over.
    chmod(place.folder.path("own.conf"), 0o666)
    let refused = try await place.dlm("config", "set", "jobs", "9")
    #expect(refused.status == 64 && refused.errorText.contains("others can write it"), "\(refused.errorText)")
  }
}
