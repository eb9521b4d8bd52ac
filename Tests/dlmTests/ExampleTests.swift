import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import dlm

/// The commands that README and articles show: each is understood, and a block of sh runs as it stands.
@Suite("Examples of README and articles", .serialized)
struct ExampleTests {
  @Test(arguments: ArticleTests.articles) func everyCommandIsUnderstood(article: String) throws {
    for line in try Self.commandLines(in: article) {
      let words = Self.words(of: line)
      // The parser answers a question for help with an error.
      guard Set(words).isDisjoint(with: ["-h", "--help", "--version"]) else { continue }
      #expect(throws: Never.self, "\(article): dlm \(words)") { try CommandLineParse.command(words) }
    }
  }

  /// Of the table of other tools' options, the last column is dlm's.
  @Test(arguments: ArticleTests.articles) func everyOptionIsKnown(article: String) throws {
    let isOfOthers = article.hasSuffix("ComingFrom.md")
    let named = try ArticleTests.codeSpans(in: article, ofLastCells: isOfOthers)
      .compactMap { $0.prefixMatch(of: /--[a-z][\w.-]+/)?.output }
    let ofScripts: Set = ["--write", "--try", "--commands"]
    let unknown = Set(named.map { String($0) }).subtracting(Self.options).subtracting(ofScripts)
    #expect(unknown.sorted() == [])
  }

  /// As a user would paste them, in turn in one folder. What stands for any server is one on this machine.
  @Test(arguments: ArticleTests.articles.filter { !$0.hasSuffix("ManyMachines.md") })
  func everyScriptRuns(article: String) async throws {
    let scripts = try ArticleTests.text(of: article).components(separatedBy: "```sh\n").dropFirst()
      .compactMap { $0.components(separatedBy: "\n```").first }
    guard !scripts.isEmpty else { return }
    let site = try ExampleSite()
    defer { site.origin.stop() }
    for script in scripts {
      let run = try await site.run(script)
      #expect(run.status == 0, "\(article):\n\(script)\n\(run.errorText)")
    }
  }

  /// A row about a message that the program no longer has helps no reader.
  @Test func everyQuotedMessageIsOfTheProgram() throws {
    let article = try ArticleTests.text(of: "Sources/dlm/dlm.docc/WhenItFails.md")
    let failures = article.components(separatedBy: "\n## No failure")[0]
    let cells = failures.split(separator: "\n").filter { $0.hasPrefix("| `") }
      .compactMap { $0.split(separator: "|").first }
    let quoted = cells.flatMap { $0.matches(of: /`([^`]+)`/).map { String($0.1) } }
    #expect(quoted.count > 30)
    let sources = try ArticleTests.files(endingWith: ".swift", below: "Sources")
      .map { try ArticleTests.text(of: $0) }.joined()
    #expect(quoted.filter { Int($0) == nil && !sources.contains($0) } == [])
  }

  private static let options: Set<String> = {
    let commands = DLM.configuration.subcommands
    let all = commands + commands.flatMap { $0.configuration.subcommands }
    let help = all.map { $0.helpMessage(columns: HelpText.unwrapped) }.joined()
    return Set(help.matches(of: /--[a-z][\w.-]+/).map { String($0.output) })
  }()

  /// What stands behind `dlm` in blocks of commands, and in spans that name an option.
  private static func commandLines(in article: String) throws -> [Substring] {
    let parts = try ArticleTests.text(of: article).components(separatedBy: "```")
    let blocks = parts.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
      .filter { block in ["\n", "sh\n", "bash\n"].contains { block.hasPrefix($0) } }
    let indented = parts.enumerated().filter { $0.offset.isMultiple(of: 2) }
      .flatMap { $0.element.split(separator: "\n").filter { $0.hasPrefix("    ") } }.joined(separator: "\n")
    let text = (blocks + [indented]).joined(separator: "\n").replacing(/\\\n +/, with: "")
    let lines = text.split(separator: "\n").compactMap { line in
      line.firstMatch(of: /(?:^ *|\|\|? |[A-Za-z_]+=\S+ )dlm ([a-z-].*)/)?.1
    }
    let spans = try ArticleTests.codeSpans(in: article).filter { $0.hasPrefix("dlm ") && $0.contains(" -") }
    return lines + spans.map { $0.dropFirst(4) }
  }

  /// The words of a command up to a pipe, a redirection, a comment, or the two blanks before an explanation.
  static func words(of line: Substring) -> [String] {
    var words = [""]
    var quote: Character?
    var isBlank = false
    for character in line {
      let last = words.count - 1
      if let open = quote {
        if character == open { quote = nil } else { words[last].append(character) }
      } else if character == "'" || character == "\"" {
        quote = character
      } else if "|>&;#".contains(character) || (isBlank && character == " ") {
        break
      } else if character == " " {
        words.append("")
      } else {
        words[last].append(character)
      }
      isBlank = character == " "
    }
    return words.filter { !$0.isEmpty }
  }
}

/// The server and the folder that the examples need.
private struct ExampleSite {
  let origin: FaultyOrigin
  private let place: Workplace
  private let programs: TestSupport.TemporaryFolder

  init() throws {
    origin = try FaultyOrigin()
    programs = try TestSupport.TemporaryFolder()
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    place = try Workplace(["PATH": "\(programs.path):\(path)"])
    try programs.link("dlm", to: try DLMExecutable.path())
    let names = ["disk.iso", "big.iso", "f0", "f1", "f2", "f3"]
    for (index, name) in names.enumerated() {
      origin.route("/pub/\(name)", .file(SplitMix64.bytes(count: 5000, seed: UInt64(index))))
    }
    // An archive of no files.
    origin.route("/pub/a.tar", .file(Array(repeating: 0, count: 10_240)))
    let page = "<!DOCTYPE html><html><body><a href=\"disk.iso\">disk</a></body></html>"
    origin.route("/pub/", .file(Array(page.utf8), FileOptions(headers: ["Content-Type: text/html"])))
    origin.route("/members/data.csv", .file([1]))
    origin.route("/private/data.csv", .behindBasic(.file([2])))
    origin.route(
      "/private/report.csv", .either({ $1["authorization"] == "Bearer TOKEN" }, .file([3]), else: .status(401)))
    _ = try place.list(names.suffix(4).map { origin.url("/pub/\($0)") })
  }

  func run(_ script: String) async throws -> CommandResult {
    let here = script.replacing("https://example.org", with: origin.url(""))
      .replacing("machine example.org", with: "machine 127.0.0.1")
    return try await place.start("bash", ["-euo", "pipefail", "-c", here]).waitForExit()
  }
}
