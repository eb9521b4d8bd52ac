import ArgumentParser
import Foundation
import TerminalProgress
import TestSupport
import Testing

@testable import dlm

/// It was once made from what had been typed: `-vH 'Authorization: …'` and a signed address were printed as
/// they stood.
@Suite("The command to try again is rebuilt from what was understood, and holds no secret")
struct AgainMessagesTests {
  private func again(_ arguments: String...) throws -> String {
    AgainMessages(try GetCommand.parse(arguments)).line
  }

  private static let note = "secrets are not shown: replace each …"

  @Test func plainCommands() throws {
    #expect(try again("my list.txt") == "dlm get 'my list.txt'")
    #expect(try again("-", "-d", "x") == "dlm get --directory x")
    #expect(try again() == "dlm get")
    // A list from a pipe that was not read to its end is not the one that `dlm get` would take.
    let broken = AgainMessages(try GetCommand.parse(["-", "-d", "x"]), isListKept: false)
    #expect(broken.line == "… | dlm get - --directory x")
    #expect(broken.note.hasPrefix("the pipe was not read to its end"))
    #expect(
      try again("-m", "sequential", "-j4", "-qv", "--limit-rate", "5M", "u", "-H", "Accept: text/plain")
        == "dlm get u --mode sequential --jobs 4 --limit-rate 5M -H 'Accept: text/plain' --quiet --verbose"
    )
    #expect(try again("u", "-H", "@secrets.txt") == "dlm get u -H @secrets.txt")
  }

  @Test(arguments: [
    ["u", "-H", "Authorization: CANARY"], ["u", "-HAuthorization: CANARY"], ["u", "-vH", "X-Key: CANARY"],
    ["u", "--header=Cookie:CANARY"], ["http://CANARY:CANARY@h/x"], ["http://CANARY@h/x"], ["u:CANARY@h/x"],
    ["http://h/x?token=CANARY&a=1"], ["u", "--proxy", "http://u:CANARY@p:8"], ["u", "--proxy=u:CANARY@p:8"],
  ])
  func secrets(arguments: [String]) throws {
    let again = AgainMessages(try GetCommand.parse(arguments))
    let line = again.line
    #expect(!line.contains("CANARY"), "\(line)")
    #expect(line.contains("…") && again.note == Self.note, "\(line)")
    // What every text for a person passes once took the place of the login out as well.
    #expect(TerminalText.sanitized(line) == line)
  }

  @Test func whatIsMissingIsShown() throws {
    #expect(try again("http://u:p@h/x") == "dlm get 'http://…@h/x'")
    #expect(try again("u", "-H", "Authorization: x") == "dlm get u -H 'Authorization: …'")
    #expect(AgainMessages(try GetCommand.parse(["u", "-H", "Accept: x"])).note.isEmpty)
  }

  /// An option that is new must be repeated too: every one that the parser knows is asked for, one after the
  /// other.
  @Test func everyOptionIsRepeated() async throws {
    let dump = try await Workplace().dlm("get", "--experimental-dump-help").outputText
    let tree = try #require(try JSONSerialization.jsonObject(with: Data(dump.utf8)) as? [String: Any])
    let command = try #require(tree["command"] as? [String: Any])
    let arguments = try #require(command["arguments"] as? [[String: Any]])
    var seen = 0
    for argument in arguments {
      let names = argument["names"] as? [[String: Any]] ?? []
      guard let name = names.first(where: { $0["kind"] as? String == "long" })?["name"] as? String,
        !["help", "version", "generate-completion-script"].contains(name)
      else { continue }
      seen += 1
      let isFlag = argument["kind"] as? String == "flag"
      let words = ["u", "--\(name)"] + (isFlag ? [] : [OptionSamples.values[name] ?? "value"])
      let line = AgainMessages(try GetCommand.parse(words)).line
      #expect(line.contains(name == "header" ? "-H 'Accept: x'" : "--\(name)"), "\(words): \(line)")
      if !isFlag { #expect(line.split(separator: " ").count > 4, "\(line)") }
      // What it says is what was said.
      let shown = line.dropFirst("dlm get ".count).split(separator: " ").map { $0.filter { $0 != "'" } }
      if name != "header" { #expect(AgainMessages(try GetCommand.parse(shown.map { "\($0)" })).line == line) }
    }
    #expect(seen > 25, "the parser's own list of options was not understood")
  }

  @Test(arguments: [
    (["-vHX-Key: CANARY", "u"], "Unknown option '-vHX-Key: CANARY'"),
    (["-uNAME:CANARY"], "Unknown option '-uNAME:CANARY'"), (["-vUx:CANARY"], "Unknown option '-vUx:CANARY'"),
    (["--heade", "Cookie: CANARY"], "2 unexpected arguments: 'a', 'Cookie: CANARY'"),
    (["--header=X: CANARY"], "The option '--header' does not take any value, but 'X: CANARY' was specified."),
    (["--proxy", "http://u:CANARY@p"], "Unexpected argument 'http://u:CANARY@p'"),
    (["user:CANARY@h/x"], "Unexpected argument 'user:CANARY@h/x'"),
    (["https:/user:CANARY@h/x"], "Unexpected argument 'https:/user:CANARY@h/x'"),
    (["Authorization:CANARY"], "Unexpected argument 'Authorization:CANARY'"),
  ])
  func theParsersMessages(arguments: [String], message: String) {
    #expect(message.contains("CANARY"))
    #expect(!UsageMessages.withoutSecrets(message, arguments).contains("CANARY"))
  }

  @Test func otherMessagesStay() {
    let message = "The value 'many' is invalid for '--jobs <N|auto>'"
    #expect(UsageMessages.withoutSecrets(message, ["get", "--jobs", "many", "-Hx"]) == message)
  }
}
