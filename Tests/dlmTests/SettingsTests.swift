import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import dlm

@Suite("Settings: where each comes from, and what is said of a bad one", .serialized)
struct SettingsTests {
  /// The message of a command line that ends at once.
  private static func message(_ place: Workplace, _ arguments: String...) async throws -> String {
    let run = try await place.start(["get", "http://127.0.0.1:9/x", "--retries", "0"] + arguments)
      .waitForExit()
    #expect(run.status == 64, "\(run.errorText)")
    return run.errorText
  }

  @Test(
    arguments: [
      ("mode = fast", "\"fast\" is not a value for mode; use sequential, async-let, parallel, auto"),
      ("mode = paralel", "Did you mean parallel?"), ("jobs = many", "use a number from 1, or auto"),
      ("stall-timeout = long", "use a time such as 30 (seconds)"), ("retry-max-time = -1", "use a time"),
      ("max-age = soon", "use a time such as 30 (seconds), 10m, 1h or 2d"), ("limit-rate = fast", "such as 500K"),
      ("fsync = maybe", "use yes or no"), ("jobs = [1, 2]", "\"[1, 2]\" is not a value for jobs"),
      ("jobs: 3", "this is not a setting; write name = value"), ("  jobs =  ", "jobs has no value"),
      ("retry-on = 403\n[h]\nretry-on = 5x", "\"h=5x\" is not a value for retry-on; use statuses"),
      ("\tjobs=x\t", "\"x\" is not a value for jobs"),
    ])
  func aBadValueNamesFileAndLine(setting: String, words: String) async throws {
    let place = try Workplace(stallTimeout: nil)
    let text = "# mine\n\nno-cache = yes\n\(setting)\n"
    _ = try place.folder.write(Array(text.utf8), to: "work/.dlm.conf")
    let here = try await Self.message(place)
    #expect(here.contains("dlm: .dlm.conf:4: ") && here.contains(words), "\(here)")
    #expect(here.contains("See dlm get --help") && !here.contains("Usage:"), "\(here)")
    try FileManager.default.removeItem(atPath: place.folder.path("work/.dlm.conf"))
    _ = try place.folder.write(Array(text.utf8), to: "home/config/dlm/dlm.conf")
    let own = try await Self.message(place)
    #expect(own.contains("home/config/dlm/dlm.conf:4: ") && own.contains(words), "\(own)")
  }

  @Test(
    arguments: [
      ("cacert", "none.pem"), ("crlfile", "none.pem"), ("netrc-file", "none"), ("pinnedpubkey", "none.pem"),
      ("cookie-jar", "no/jar"), ("cert", "none.pem"), ("proxy", "ftp://h"), ("header", "no colon"),
      ("failed", "/"),
    ])
  func aFileThatCannotBeUsed(key: String, value: String) async throws {
    let place = try Workplace()
    _ = try place.folder.write(Array("\n\(key) = \(value)\n".utf8), to: "home/config/dlm/dlm.conf")
    let own = try await Self.message(place)
    #expect(own.contains("dlm.conf:2: "), "\(own)")
    let variable = SettingsSources.variable(key)
    let set = try await Self.message(try Workplace([variable: value]))
    #expect(set.contains("dlm: \(variable)"), "\(set)")
    // What the option says itself needs no place.
    let given = try await Self.message(place, "--\(key)", value)
    #expect(!given.contains("dlm.conf") && given.contains(key), "\(given)")
  }

  @Test func settingsThatDoNotGoTogether() async throws {
    let place = try Workplace(["DLM_OFFLINE": "yes"])
    let text = try await Self.message(place, "--refresh")
    #expect(text.contains("use one of the two. (offline: DLM_OFFLINE)"), "\(text)")
    let options = try await Self.message(try Workplace(), "--refresh", "--offline")
    #expect(options.contains("use one of the two\n"), "\(options)")
  }

  @Test func unknownKeysNameTheirLine() async throws {
    let place = try Workplace()
    _ = try place.folder.write(Array("mode = sequential\njbos = 3\n".utf8), to: "work/.dlm.conf")
    let text = try await place.dlm("get", "--dry-run", "--offline", "http://h/x", "-q").errorText
    #expect(text == "dlm: .dlm.conf:2: jbos is not a setting, and is ignored; did you mean jobs?\n")
  }

  @Test func aSectionIsOfOneHost() async throws {
    let place = try Workplace()
    let text = "retry-on = 500\n[ Data.Example.org ]\nretry-on = 403\njobs = 3\n[h:81]\nretry-on=5xx, 404"
    _ = try place.folder.write(Array(text.utf8), to: "home/config/dlm/dlm.conf")
    let run = try await place.dlm("config", "--json")
    #expect(run.outputText.contains(#""value":"500\nData.Example.org=403\nh:81=5xx, 404""#), "\(run.outputText)")
    #expect(run.errorText.contains("dlm.conf:4: jobs is no setting of a single host"), "\(run.errorText)")
  }

  /// With a byte order mark, line ends of Windows, blanks, comments, and names that stand there twice.
  @Test func howSettingsAreWritten() async throws {
    let place = try Workplace()
    let text =
      "\u{FEFF}# mine\r\n jobs=2\r\n\t# no = comment\r\njobs = 3\r\nfirst = *.pdf\r\n"
      + "first=a = b # c\r\nuser-agent = \"R&D & *\""
    _ = try place.folder.write(Array(text.utf8), to: "work/.dlm.conf")
    let run = try await place.dlm("config", "--json")
    #expect(run.status == 0 && run.errorText.isEmpty, "\(run.errorText)")
    for words in [
      #""line":4,"name":"jobs","place":".dlm.conf","value":"3""#, #""value":"*.pdf\na = b # c""#,
      #""value":"\"R&D & *\"""#,
    ] {
      #expect(run.outputText.contains(words), "\(words): \(run.outputText)")
    }
  }

  @Test func unknownVariablesAreSaid() async throws {
    let place = try Workplace([
      "DLM_JBOS": "3", "DLM_JOBS": "3", "DLM_LOOPS": "1", "DLM_TEST_LIMIT": "1", "DLM_CERT_PASSPHRASE": "x",
      "DLMX": "1",
    ])
    let text = try await place.dlm("get", "--dry-run", "--offline", "http://h/x", "-q").errorText
    #expect(
      text
        == "dlm: DLM_JBOS in the environment is not a setting, and is ignored; did you mean DLM_JOBS?\n"
    )
    #expect(SettingsSources.unknownVariables(OptionTable.settingKeys.map(SettingsSources.variable)).isEmpty)
  }

  /// `-d "$DIR"` without a DIR brought the files into this folder without a word.
  @Test func anEmptyValueIsRefused() async throws {
    let place = try Workplace()
    for row in OptionTable.rows where row.kind != .flag && !OptionTable.mayBeEmpty.contains(row.name) {
      let run = try await place.dlm("get", "http://127.0.0.1:1/x", row.spelled, "")
      #expect(run.status == 64 && run.errorText.contains(row.spelled), "\(row.name): \(run.errorText)")
    }
    let run = try await Workplace(["DLM_FAILED": ""]).dlm("get", "http://127.0.0.1:1/x")
    #expect(run.status == 64 && run.errorText.contains("DLM_FAILED: the value is empty"), "\(run.errorText)")
  }

  // MARK: The table

  /// The help, `dlm config` and the table say the same of what holds where nothing is set.
  @Test func theHelpShowsEachDefault() async throws {
    let help = try await Workplace().dlm("get", "--help").outputText
    let words = help.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for row in OptionTable.rows {
      let text = row.usual ?? row.meaning
      if row.kind == .flag { continue }
      let start = try #require(words.range(of: "\(row.spelled) <"), "\(row.spelled)").upperBound
      let next = words.range(of: " --", range: start..<words.endIndex)?.lowerBound ?? words.endIndex
      #expect(words[start...].contains("(default: \(text))"), "\(row.spelled): \(words[start..<next])")
      let first = words[start...].firstRange(of: "(default: ")
      #expect(first.map { words[$0.upperBound...].hasPrefix("\(text))") } == true, "\(row.spelled)")
    }
  }

  /// A run to which every built-in value is given is the run that has none.
  @Test func builtInValuesAreThoseInForce() async throws {
    var variables: [String: String] = ["XDG_CONFIG_HOME": "/nowhere"]
    func settings() throws -> Settings {
      try Settings(.parse([]), [], .load(environment: variables))
    }
    let usual = try settings()
    // A folder of this run's own replaces the one that a list of failures names, also where it is this folder.
    for row in OptionTable.rows where row.setting != .nowhere && row.name != "directory" {
      if let text = row.usual { variables[SettingsSources.variable(row.name)] = text }
    }
    #expect(variables.count > 20)
    let given: [String?] = ["own", "shared", "environment"]
    /// What is made of the options and the environment, which themselves are given or not. Without the rate limiter
    /// and others that are objects, a value prints as what it is.
    func made(_ settings: Settings) -> [String] {
      Mirror(reflecting: settings).children.filter { !given.contains($0.label) }.map { "\($0)" }
    }
    let spelled = try settings()
    #expect(made(spelled) == made(usual))
    #expect(spelled.shared.perHost?.number == usual.shared.perHost?.number)
  }

  /// The manual page is made from the help.
  @Test func theHelpTellsStatusesFilesAndEnvironment() async throws {
    let help = try await Workplace().dlm("get", "--help").outputText
    for word in [
      "EXIT STATUS", "75   only", "FILES", "./.dlm.conf", "dlm/dlm.conf", "ENVIRONMENT", "DLM_JOBS",
      "NO_COLOR",
    ] {
      #expect(help.contains(word), "\(word)")
    }
  }

  @Test func everyOptionButThoseOfOneCommandIsASetting() {
    let without = OptionTable.rows.filter { $0.setting == .nowhere }.map(\.name)
    #expect(
      without == [
        "list", "list-format", "base", "accept", "depth", "glob", "url-template", "preset", "items",
        "next-field", "url-field", "name-field", "checksum-field", "size-field", "split", "shard", "shard-by",
        "no-prefer-https", "no-unwrap", "output",
        "checksum", "expect", "detach", "user", "dry-run", "json",
      ])
  }

  /// Every setting has its place in the file that explains them.
  @Test func everySettingIsExplained() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Config/dlm.conf")
    let lines = try String(contentsOf: path.standardizedFileURL, encoding: .utf8).split(separator: "\n")
    for key in OptionTable.settingKeys {
      #expect(lines.contains { $0.hasPrefix("\(key) =") || $0.hasPrefix("# \(key) =") }, "\(key)")
    }
  }

  @Test func settingsThatOnceWereOptionsOnly() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    origin.route("/none", .status(404))
    let place = try Workplace(["DLM_QUIET": "yes", "DLM_HEADER": "X-One: 1\nX-Two: 2"])
    _ = try place.folder.write(Array("failed = again.txt\n".utf8), to: "home/config/dlm/dlm.conf")
    let run = try await place.dlm("get", origin.url("/f"), origin.url("/none"))
    #expect(run.status == 1)
    #expect(!run.errorText.contains("1 file"), "\(run.errorText)")
    #expect(origin.log.first?.headers["x-one"] == "1" && origin.log.first?.headers["x-two"] == "2")
    #expect(try String(decoding: place.file("again.txt"), as: UTF8.self).contains(origin.url("/none")))
    let once = try await place.dlm("get", "-H", "X-One: 3", "--refresh", origin.url("/f"))
    #expect(once.status == 0)
    #expect(origin.log.last?.headers["x-one"] == "3" && origin.log.last?.headers["x-two"] == nil)
  }

  // MARK: dlm config

  @Test func configShowsWhereValuesComeFrom() async throws {
    let variables = [
      "DLM_JOBS": "7", "DLM_PROXY": "http://user:CANARY@h:1", "DLM_HEADER": "Authorization: CANARY",
    ]
    let place = try Workplace(variables, stallTimeout: nil)
    _ = try place.folder.write(Array("\nretries = 2\ninsecure = yes\n".utf8), to: "work/.dlm.conf")
    _ = try place.folder.write(
      Array("jobs = 3\nretries = 9\ndirectory = /out\n".utf8), to: "home/config/dlm/dlm.conf")
    let run = try await place.dlm("config", "--mode", "sequential", "--http2")
    #expect(run.status == 0, "\(run.errorText)")
    let rows = run.outputText.split(separator: "\n").map {
      $0.split(separator: "  ").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
    let own = place.folder.path("home/config/dlm/dlm.conf")
    for row in [
      ["mode", "sequential", "--mode"], ["http2", "yes", "--http2"], ["jobs", "7", "DLM_JOBS"],
      ["retries", "2", ".dlm.conf:2"], ["directory", "/out", "\(own):3"], ["insecure", "no", "built-in"],
      ["stall-timeout", "30", "built-in"], ["limit-rate", "(none)", "built-in"],
      ["proxy", "http://h:1", "DLM_PROXY"], ["header", "Authorization: …", "DLM_HEADER"],
    ] {
      #expect(rows.contains(row), "\(row): \(run.outputText)")
    }
    #expect(!run.outputText.contains("CANARY") && !run.errorText.contains("CANARY"))
    #expect(rows.count == OptionTable.settingKeys.count)

    let json = try await place.dlm("config", "--json", "--mode", "sequential")
    let objects = try json.outputText.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(objects.count == rows.count && !json.outputText.contains("CANARY"))
    let retries = try #require(objects.first { $0["name"] as? String == "retries" })
    #expect(retries["value"] as? String == "2" && retries["from"] as? String == "file")
    #expect(retries["place"] as? String == ".dlm.conf" && retries["line"] as? Int == 2)
    let rate = try #require(objects.first { $0["name"] as? String == "limit-rate" })
    #expect(rate["value"] is NSNull && rate["from"] as? String == "built-in" && rate["place"] is NSNull)
    let some = try await place.dlm("config", "retries", "netrc")
    #expect(some.outputText.split(separator: "\n").map { $0.prefix(8) } == ["retries ", "netrc   "])
    let source = try await place.dlm("config", "urls.txt")
    #expect(source.status == 64 && source.errorText.contains("\"urls.txt\" is not a setting"), "\(source.errorText)")
  }
}
