import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import dlm

@Suite("Help, hints and the manual page")
struct HelpTests {
  @Test(arguments: [[], ["-h"], ["get", "-h"], ["get", "urls.txt", "-h"]])
  func oneScreenOfWhatIsUsedDaily(words: [String]) async throws {
    let place = try Workplace()
    let help = try await place.start(words).waitForExit()
    #expect(help.status == 0 && help.errorText.isEmpty)
    let lines = help.outputText.split(separator: "\n")
    // The prompt takes the last one of 24.
    #expect(lines.count <= 23 && lines.allSatisfy { $0.count <= 80 }, "\(help.outputText)")
    #expect(lines.first?.hasPrefix("USAGE: dlm ") == true)
    let options = lines.filter { $0.hasPrefix("  -") }
    #expect(options.count == 20 && OptionTable.daily.count == 20)
    for name in OptionTable.daily { #expect(options.contains { $0.contains("--\(name) ") }, "\(name)") }
    #expect(help.outputText.contains("compare, demo, cache") && help.outputText.contains("dlm get --help"))
  }

  @Test(
    arguments: [
      ("Fail files larger than this: 500K, 2G (default: any size).", "Fail files larger than this: 500K, 2G"),
      ("Where files go; made if missing (default: .).", "Where files go; made if missing (default: .)"),
      (
        "Checksums for a list, by file name, as sha256sum writes them; or their address (default: none).",
        "Checksums for a list, by file name"
      ),
      ("The name, for one (default: by address, or what the server suggests).", "The name, for one"),
      ("Accept any certificate.", "Accept any certificate"), ("No end", "No end"),
      ("What to do about a file of that name that dlm did not write", "What to do about a file of that name tha…"),
    ])
  func asManyClausesAsThereIsRoomFor(text: String, brief: String) {
    #expect(HelpText.brief(text[...], within: brief.hasSuffix("…") ? 41 : 50) == brief[...])
  }

  /// Also what stands behind the options, which the parser breaks within its tables.
  @Test(arguments: [60, 80, 132]) func allOfItUsageFirst(columns: Int) async throws {
    let place = try Workplace(["COLUMNS": "\(columns)"])
    for command in ["get", "compare", "demo", "cache", "config"] {
      let text = try await place.dlm(command, "--help").outputText
      #expect(text.hasPrefix("USAGE: dlm \(command) "), "\(text.prefix(80))")
      // A word stays whole where it is longer than its column.
      let long = text.split(separator: "\n").map { String($0) }.filter { $0.count > columns }
      #expect(long.filter { $0.contains(#/\S \S+ /#) && !$0.contains("CURL_CA_BUNDLE") } == [])
    }
    let get = try await place.dlm("get", "--help").outputText
    let titles = OptionTable.sections.map(\.title) + ["MODES", "EXIT STATUS", "FILES", "ENVIRONMENT"]
    let places = titles.map { get.range(of: "\n\($0)\n")?.lowerBound ?? get.endIndex }
    #expect(places == places.sorted() && !places.contains(get.endIndex))
    for row in OptionTable.rows {
      #expect(get.ranges(of: try Regex("\n  (-\\w, )?\(row.spelled)[ \n]")).count == 1, "\(row.spelled)")
    }
    // What stands beside a path goes on below itself.
    if columns == 80 { #expect(get.contains("\n\(String(repeating: " ", count: 38))not whom it trusts\n")) }
  }

  /// The options that a command has in common with get are explained once, and named elsewhere.
  @Test(arguments: DLM.configuration.subcommands.compactMap { $0.configuration.commandName })
  func otherCommandsAreShort(command: String) async throws {
    let text = try await Workplace(["COLUMNS": "80"]).dlm(command, "--help").outputText
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(command == "get" || lines.count < 60, "\(command): \(lines.count)")
    let names = text.ranges(of: "As in dlm get (see dlm get --help): --").count
    #expect(names == (["compare", "config", "demo"].contains(command) ? 1 : 0), "\(text)")
    #expect(!text.contains("). (") && !text.contains(". (default"), "\(text)")
    for preset in command == "get" ? Preset.allValueStrings : [] {
      // "esgf" is a format, too.
      let count = ListFormat(rawValue: preset) == nil ? 1 : 2
      #expect(text.ranges(of: try Regex("[ \n]\(preset)[,)]")).count == count, "\(preset) is said once")
    }
  }

  /// They stand at the top, and each is understood.
  @Test func everyExampleIsUnderstood() throws {
    var count = 0
    for command in DLM.configuration.subcommands {
      let paragraphs = command.configuration.discussion.components(separatedBy: "\n\n")
      guard let examples = paragraphs.first, paragraphs.contains(where: { $0.hasPrefix("EXAMPLES") }) else { continue }
      #expect(examples.hasPrefix("EXAMPLES\n"))
      for line in examples.split(separator: "\n").dropFirst() {
        let words = ExampleTests.words(of: line.trimmingPrefix("  dlm "))
        #expect(throws: Never.self, "\(line)") { try CommandLineParse.command(words) }
        count += 1
      }
    }
    #expect(count > 25)
  }

  @Test func everyOptionStandsInOneSection() {
    let names = OptionTable.sections.flatMap(\.names)
    #expect(names.sorted() == (OptionTable.rows.map(\.name) + ["help", "version"]).sorted())
    #expect(OptionTable.daily.isSubset(of: names))
    #expect(OptionTable.sections.allSatisfy { !$0.names.isEmpty })
  }

  @Test(
    arguments: [
      ("-c", "dlm always resumes; no option is needed"), ("--continue", "always resumes"),
      ("--continu", "always resumes"), ("--out", "Did you mean --output?"), ("--dir", "-d DIR"),
      ("--thread", "-j N"), ("-i", "dlm get LIST"), ("-O", "-o NAME"), ("-P", "-d DIR"), ("-x4", "--per-host N"),
      ("-x", "curl's -x is --proxy"), ("-L", "redirects are followed"), ("--bwlimit", "--limit-rate RATE"),
      ("--wait", "--rate 2/s"), ("--max-download-limit", "--limit-rate-file"),
      ("-Z", "-j N"), ("--parallel", "in parallel"), ("--parallel-max", "-j N"), ("--min-split-size", "-s N"),
      ("--max-concurrent-downloads", "-j N"), ("--input-file", "dlm get LIST"), ("--output-document", "-o NAME"),
      ("--directory-prefix", "-d DIR"), ("--no-check-certificate", "--insecure"), ("--limit-rat", "--limit-rate?"),
      ("--load-cookies", "--cookie-jar FILE"), ("--http-user", "--netrc-file FILE"), ("--remote-name", "-o NAME"),
      ("--compressed", "no option is needed"), ("--fail", "no option is needed"), ("--silent", "-q"),
      ("-nc", "--on-conflict"), ("--nocache", "Did you mean --no-cache?"), ("--max-tries", "--retries N"),
      ("-r", "--depth 3 follows its folders"), ("--mirror", "--accept"), ("-l", "--depth N"),
      ("-e", "--referer URL"),
      ("--noproxy", "NO_PROXY"), ("--ftp", "the URL says so"), ("--data", "GET requests only"),
      ("--resume", "always resumes"), ("--max-speed", "--limit-rate RATE"), ("--proxy-user", "in the URL of --proxy"),
      ("--edit", "~/.config/dlm/dlm.conf"), ("--verison", "Did you mean --version?"),
    ])
  func whatOthersCallIt(typed: String, says: String) {
    let message = OptionHint.added(to: "dlm: Unknown option '\(typed)'. Did you mean '--x'?\nUsage", ["get", typed])
    let lines = message.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].hasPrefix("dlm: Unknown option '\(typed)'"), "\(message)")
    #expect(lines[0].contains(says) && !lines[0].contains("'--x'"), "\(message)")
  }

  /// The parser suggests whatever is nearest, however far that is.
  @Test func onlyANearSpellingIsSuggested() {
    for (typed, words) in [
      ("-Q", ["get"]), ("--nothing", ["get"]), ("-c", ["compare"]), ("--jsno", ["cache", "list"]),
    ] {
      let message = "Unknown option '\(typed)'. Did you mean '--json'?\nUsage"
      let said = "Unknown option '\(typed)'\(typed == "--jsno" ? ". Did you mean --json?" : "")\nUsage"
      #expect(OptionHint.added(to: message, words + [typed]) == said)
    }
    #expect(OptionHint.added(to: "Unexpected argument 'x'", ["get"]) == "Unexpected argument 'x'")
  }

  /// An option that is known needs no hint, and a hint names options that there are.
  @Test func hintsNameWhatThereIs() async throws {
    let place = try Workplace()
    let run = try await place.dlm("http://127.0.0.1:1/x", "-c")
    #expect(run.status == 64 && run.errorText.contains("unknown option '-c': dlm always resumes"), "\(run.errorText)")
    let early = try await place.dlm("-j", "4", "none.txt")
    #expect(early.errorText.contains("unknown option '-j': write it after dlm get"), "\(early.errorText)")
    _ = try place.list([])
    let wrong = try await place.dlm("--list-format", "csvv", "urls.txt")
    #expect(
      wrong.errorText.hasPrefix("dlm: --list-format: \"csvv\" is not a value for it; use apt,"), "\(wrong.errorText)")
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../Sources/dlm/Messages/OptionHint.swift")
    let lines = try String(contentsOf: path.standardizedFileURL, encoding: .utf8).split(separator: "\n")
      .filter { $0.hasPrefix("    -") }
    #expect(lines.count > 20)
    for line in lines {
      let colon = try #require(line.range(of: ": "))
      for match in line[..<colon.lowerBound].matches(of: /--([\w-]+)/) {
        #expect(!OptionTable.rows.contains { $0.name == match.1 }, "\(match.0) is known")
      }
      for match in line[colon.upperBound...].matches(of: /--([\w-]+)/) {
        #expect(OptionTable.rows.contains { $0.name == match.1 }, "\(match.0) is not known")
      }
    }
  }

  @Test func theManualPageHasSectionsAndRepeatsNothing() async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Config/manual")
    let place = try Workplace()
    let run = try await place.start(script.standardizedFileURL.path, [DLMExecutable.path()]).waitForExit()
    #expect(run.status == 0)
    #expect(run.errorText == "")
    let page = run.outputText
    let sections = page.matches(of: /\n\.SH ([A-Z ]+)/).map { String($0.1) }
    #expect(
      sections == [
        "NAME", "SYNOPSIS", "DESCRIPTION", "MODES", "OPTIONS", "COMMANDS", "KEYS", "FILES", "ENVIRONMENT",
        "EXIT STATUS",
        "EXAMPLES", "SEE ALSO",
      ])
    let plain = page.replacing("\\-", with: "-")
    let ofOthers: Set = ["mode", "list", "json", "directory", "limit-rate", "progress", "detach", "watch"]
    for row in OptionTable.rows where !ofOthers.contains(row.name) {
      let items = try Regex("\n\\.B (-\\w, )?\(row.spelled)( <.*>)?\n")
      #expect(plain.ranges(of: items).count == 1, "\(row.spelled)")
    }
    for text in [
      "\n.B 75\n", "(values: rename, skip, overwrite, ask, fail)", "\n.B --older-than <time>\n",
      "\n.B --latency <MS>\n",
    ] {
      #expect(plain.contains(text), "\(text)")
    }
  }

  /// `dlm demo` and `dlm config` had two options of one name: a debug build ended with the parser's complaint, and a
  /// release build took one of them.
  @Test func eachNameOnce() async throws {
    struct Dump: Decodable {
      var command: Command
      struct Command: Decodable {
        var commandName: String
        var subcommands: [Command]?
        var arguments: [Argument]?
        var all: [Command] { [self] + (subcommands ?? []).flatMap(\.all) }
      }
      struct Argument: Decodable {
        var names: [Name]?
        struct Name: Decodable, Hashable { var kind, name: String }
      }
    }
    let place = try Workplace()
    let text = try await place.dlm("--experimental-dump-help").outputText
    let commands = try JSONDecoder().decode(Dump.self, from: Data(text.utf8)).command.all
    #expect(commands.count > 15)
    for command in commands {
      let names = (command.arguments ?? []).flatMap { $0.names ?? [] }
      let twice = Dictionary(grouping: names, by: \.self).filter { $0.value.count > 1 }.keys.map(\.name)
      #expect(twice == [], "dlm \(command.commandName)")
    }
  }
}
