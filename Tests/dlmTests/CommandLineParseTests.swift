import ArgumentParser
import TestSupport
import Testing

@testable import dlm

@Suite("A command line means the same the short way and the long way")
struct CommandLineParseTests {
  @Test(
    arguments: [
      ["get"], ["get", "urls.txt"], ["get", "-"], ["get", "http://a/b", "http://a/c"],
      ["get", "urls.txt", "--mode", "sequential", "-j4", "-s", "auto", "--directory=-odd"],
      ["get", "-m", "task-group", "-dout", "-HA: b", "-vH", "@file", "-qv", "x"],
      [
        "get", "--limit-rate", "1.5M", "--retries=0", "--proxy", "http://u:p@h", "--http2", "--", "--list",
        "-x",
      ],
      ["get", "--checksum", "md5:00000000000000000000000000000000", "-o", "a b", "http://a/b"],
      ["get", "help"], ["get", "get"], ["get", "compare", "--no-compare"], ["get", ""],
      ["compare"], ["compare", "urls.txt", "--runs", "5", "--jobs", "32", "-m", "sequential", "parallel"],
      ["compare", "--list", "http://a/b", "--progress", "json"],
      ["demo"], ["demo", "--serve", "--port", "1", "--files", "5x4K", "--connection-rate=1M", "--runs", "2"],
      ["cache"], ["cache", "--json"], ["cache", "status", "--json"], ["cache", "list"], ["cache", "verify"],
      ["cache", "prune"], ["cache", "path"], ["clear-cache"],
    ])
  func bothWays(words: [String]) throws {
    let short = try #require(CommandLineParse.directly(words))
    let long = try DLM.parseAsRoot(words)
    #expect(type(of: short) == type(of: long))
    var shown = short
    if var get = short as? GetCommand {
      get.given = nil  // the parser does not know it
      shown = get
    }
    #expect("\(shown)" == "\(long)")
    if let short = short as? GetCommand, let long = long as? GetCommand {
      #expect(RememberedOptions(short) == RememberedOptions(long))
      #expect(short.sources == long.sources)
    }
  }

  /// `-directory x` brought the files into a folder "irectory".
  @Test(arguments: ["-directory", "-output", "-header", "-jobs"]) func aLongOptionWithOneDash(word: String) {
    let error = #expect(throws: ValidationError.self) { try CommandLineParse.command(["get", "u", word, "x"]) }
    #expect(error?.message == "\(word): a long option has two dashes: -\(word)")
    #expect(throws: Never.self) { try CommandLineParse.command(["get", "--", word]) }
  }

  /// What a command prints as shows its values, or the comparison above would mean nothing.
  @Test func otherValuesPrintOtherwise() throws {
    let lines = [
      ["get"], ["get", "-j4"], ["get", "x"], ["get", "-q"], ["get", "-H", "A: b"], ["get", "-H", "A: c"],
    ]
    let texts = try lines.map { "\(try #require(CommandLineParse.directly($0)))" }
    #expect(Set(texts).count == lines.count)
  }

  /// Help, mistakes and scripts are of the whole command.
  @Test(
    arguments: [
      [], ["help"], ["help", "get"], ["help", "cache", "list"], ["--help"], ["-h"], ["--version"],
      ["get", "--help"], ["get", "-h", "x"], ["get", "x", "--version"], ["get", "--experimental-dump-help"],
      ["get", "--generate-completion-script", "bash"], ["get", "--generate-completion-script"],
      ["--generate-completion-script", "zsh"], ["---completion", "get", "--", "sources", "0", "0"],
      ["get", "---completion", "--", "sources"],
      ["get", "x", "--mdoe", "parallel"], ["get", "--mode", "none"], ["get", "--jobs"], ["get", "-j0"],
      ["--mode", "parallel", "get", "x"], ["compare", "--runs", "0"],
      ["demo", "--help"], ["demo", "x"], ["cache", "help"], ["cache", "list", "x"],
      ["cache", "list", "--help"], ["clear-cache", "--nothing"], ["--"],
    ])
  func theLongWay(words: [String]) {
    #expect(CommandLineParse.directly(words) == nil)
    #expect(Self.end { try CommandLineParse.command(words) } == Self.end { try DLM.parseAsRoot(words) })
  }

  /// Status and text of a command that ends at once.
  private static func end(_ parse: () throws -> any ParsableCommand) -> String {
    do {
      var command = try parse()
      if command is any AsyncParsableCommand { return "\(command)" }
      try command.run()
      return ""
    } catch {
      return "\(DLM.exitCode(for: error).rawValue): \(DLM.fullMessage(for: error))"
    }
  }

  /// The parser only called them unexpected.
  @Test(
    arguments: [
      (["gte", "x"], "did you mean \"dlm get\"?"), (["ge"], "dlm get"), (["Get", "x"], "dlm get"),
      (["cache", "lits"], "\"dlm cache list\""), (["cache", "x", "--json"], "It has status, "),
      (["."], "neither a command nor a file"), (["", "x"], "neither a command"),
      (["nothere"], "is neither a command nor a file: commands are get, add, compare, demo, cache, "),
      (["doi:10.1000/182"], "only Zenodo's DOIs name a list; "),
      (["help", "nothing"], "\"nothing\" is not a command of dlm. It has get, "),
      (["help", "compar"], "Did you mean \"dlm compare\"?"), (["help", "cache", "lits"], "\"dlm cache list\""),
      (["example.org/x.iso", "-o", "y"], "write https://example.org/x.iso"),
      // A preset's id may look like a port.
      (["zendo:123"], "did you mean zenodo:123?"), (["gcd:1"], "did you mean gdc:1?"),
      (["zendo:99999999"], "did you mean zenodo:99999999?"), (["iaa:foo/bar"], "did you mean ia:foo/bar?"),
      (["nothere:99999999"], "\"nothere\" is not a preset; presets are "), (["some:name"], "\"some\" is not a preset"),
      (["host:8080"], "if it is a URL, write https://host:8080"),
      (["localhost:8080/x"], "write https://localhost:8080/x"),
      (["zenodo.example:8080/x"], "write https://zenodo.example:8080/x"),
    ])
  func wordsThatAreNothing(words: [String], says: String) {
    let text = Self.end { try CommandLineParse.command(words) }
    #expect(text.hasPrefix("64: ") && text.contains(says), "\(text)")
  }

  @Test func aMistakeNamesTheWholeCommand() {
    let text = Self.end { try CommandLineParse.command(["get", "--mdoe", "x"]) }
    #expect(text.contains("--mdoe") && text.contains("Usage: dlm get"), "\(text)")
  }

  @Test func whatIsASourceIsFetched() throws {
    let folder = try TestSupport.TemporaryFolder()
    let list = try folder.write([], to: "urls.txt")
    try folder.makeFolder("get")
    for source in ["http://a/b", "ftp://a/b", list] {
      #expect(CommandLineParse.withCommand([source, "-q"]) == ["get", source, "-q"])
      let command = try CommandLineParse.command([source, "-q"]) as? GetCommand
      #expect(command?.sources == [source] && command?.shared.quiet == true)
    }
    let typed = ["-q", "-o", "-", "http://a/b"]
    #expect(CommandLineParse.withCommand(typed) == ["get"] + typed)
    for words in [["-q", list], ["-j", "4", list, "-q"], ["-"]] {
      #expect(CommandLineParse.withCommand(words) == ["get"] + words)
    }
    // Commands, options, and what may be a mistyped command.
    for words in [[], ["get"], ["help"], ["cache", list], ["-q", "compare", list], ["-q", "urls.tx"], ["urls.tx"]] {
      #expect(CommandLineParse.withCommand(words) == words)
    }
    for words in [[folder.path], ["--help"], ["-j", "4"]] {
      #expect(CommandLineParse.withCommand(words) == words)
    }
    let text = Self.end { try CommandLineParse.command(["http://a/b", "--mdoe"]) }
    #expect(text.contains("--mdoe") && text.contains("Usage: dlm get"), "\(text)")
  }
}

@Suite("Plain words of dlm get are read by the table of options as the parser reads them")
struct PlainWordsTests {
  /// - Returns: whether the table was enough.
  private static func isSame(_ words: [String]) throws -> Bool {
    guard let command = PlainWords(words)?.command() else { return false }
    let parsed = try GetCommand.parse(words)
    #expect(command.sources == parsed.sources, "\(words)")
    for row in OptionTable.rows { #expect(row.texts(command) == row.texts(parsed), "\(words)") }
    #expect(RememberedOptions(command) == RememberedOptions(parsed), "\(words)")
    return true
  }

  @Test func everyOption() throws {
    for row in OptionTable.rows {
      let value = row.kind == .flag ? [] : [OptionSamples.values[row.name] ?? "value"]
      for name in [row.spelled] + (row.letter.map { ["-\($0)"] } ?? []) {
        #expect(try Self.isSame(["u", name] + value + ["v"]), "\(name)")
      }
      if let value = value.first {
        #expect(try Self.isSame(["\(row.spelled)=\(value)", "\(row.spelled)=\(value)"]), "\(row.spelled)")
      }
    }
  }

  @Test(
    arguments: [
      ["-j8"], ["-j=8"], ["-qv"], ["--"], ["--", "x"], ["--jobs"], ["--jobs", "-1"], ["-d", "-x"], ["-d", "--quiet"],
      ["--jobs", "none"], ["--jobs="], ["--quiet=yes"], ["--nothing"], ["-h"], ["--help"], ["-"], ["-o", "-"], [""],
      ["-d", ""], ["-d="], ["--directory="], ["-é"], ["--list=", "x"], ["-H", "A: b=c", "--header=D: e=f"],
      ["--mode", "sequential", "--mode", "parallel"], ["--retry-on", "403", "--retry-on=404"],
      ["--jobs", "none", "--jobs", "4"], ["--jobs=4", "--jobs=none"], ["--é", "x"], ["-jj"],
    ]) func oddOnes(words: [String]) throws
  { _ = try Self.isSame(words) }

  @Test(arguments: 0..<8) func anyWords(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let words = [
      "u", "-", "--", "-q", "-v", "-qv", "-j", "--jobs", "--jobs=2", "4", "", "-H", "A: b", "--header=C: d", "-o", "-d",
      "--directory", "--failed=x", "--mode", "auto", "=", "-=", "--=", "x=y",
    ]
    for _ in 0..<25 {
      let line = (0..<Int.random(in: 0..<6, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }
      _ = try Self.isSame(line)
    }
  }
}
