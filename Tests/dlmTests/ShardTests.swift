import ArgumentParser
import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("A list shared out among processes that know nothing of one another")
struct ShardTests {
  /// Reports of years are added up by it: whoever changes the function gives it another number.
  @Test(arguments: [
    ("http://h/a", 1, 1), ("http://h/a", 2, 2), ("http://h/b", 2, 1), ("http://h/c", 2, 1), ("http://h/a", 4000, 3433),
    ("https://example.org/data/file-000017.csv", 20, 11), ("", 7, 7),
  ])
  func neverMoves(text: String, count: Int, number: Int) { #expect(Shard.number(of: text, among: count) == number) }

  @Test func isEvenAndWhole() {
    var sizes = Array(repeating: 0, count: 20)
    for line in 0..<40_000 { sizes[Shard.number(of: "http://h/f\(line)", among: 20) - 1] += 1 }
    // Two thousand each; the standard deviation is 44.
    #expect(sizes.allSatisfy { (1780...2220).contains($0) }, "\(sizes)")
  }

  @Test(arguments: [
    ("3/20", 3...3, 20), ("1-4/4000", 1...4, 4000), ("20/20", 20...20, 20), ("1/1", 1...1, 1),
  ])
  func isRead(text: String, numbers: ClosedRange<Int>, count: Int) throws {
    let argument = try #require(ShardArgument(argument: text))
    #expect(argument == .these(numbers, of: count) && argument.description == text)
    #expect(try argument.shard(by: .host, [:]) == Shard(numbers: numbers, count: count, unit: .host))
  }

  @Test(arguments: [
    "0/20", "21/20", "3", "3/", "/20", "3/0", "4-2/20", "1-2-3/20", "-1/20", "auto/0", "auto/x", "x/20", "",
    "1/1000000001", "auto/9000000000000000000",
  ])
  func isNone(text: String) { #expect(ShardArgument(argument: text) == nil) }

  static let arrays: [(engine: [String: String], argument: String, number: Int, count: Int)] = [
    (["SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "20"], "auto", 7, 20),
    (["SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": "20"], "auto", 1, 20),
    (
      [
        "SLURM_ARRAY_TASK_ID": "30", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_STEP": "10",
        "SLURM_ARRAY_TASK_COUNT": "5",
      ], "auto", 3, 5
    ),
    (["JOB_COMPLETION_INDEX": "0"], "auto/8", 1, 8), (["JOB_COMPLETION_INDEX": "7"], "auto/8", 8, 8),
    (["AWS_BATCH_JOB_ARRAY_INDEX": "4", "AWS_BATCH_JOB_ARRAY_SIZE": "9"], "auto", 5, 9),
    (
      ["SGE_TASK_ID": "5", "SGE_TASK_FIRST": "1", "SGE_TASK_LAST": "9", "SGE_TASK_STEPSIZE": "2"], "auto", 3, 5
    ),
    (["PBS_ARRAY_INDEX": "3"], "auto/4", 3, 4),
    // Of an ordinary job of this engine.
    (["SGE_TASK_ID": "undefined", "PBS_ARRAYID": "1"], "auto/2", 1, 2),
  ]

  @Test(arguments: arrays.indices)
  func anEngineSays(index: Int) throws {
    let row = Self.arrays[index]
    let shard = try #require(ShardArgument(argument: row.argument)).shard(by: .line, row.engine)
    #expect(shard == Shard(numbers: row.number...row.number, count: row.count))
  }

  @Test(
    arguments: [
      ([:], "auto", "are not set"), (["JOB_COMPLETION_INDEX": "3"], "auto", "auto/20"),
      (["JOB_COMPLETION_INDEX": "3", "PBS_ARRAYID": "3"], "auto/9", "both set"),
      (["JOB_COMPLETION_INDEX": "9"], "auto/9", "not one of 9 jobs"),
      (["PBS_ARRAY_INDEX": "0"], "auto/9", "not one of 9 jobs"),
      // An array of 1, 5 and 9.
      (
        ["SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "3"], "auto",
        "not one of 3 jobs"
      ),
    ] as [([String: String], String, String)])
  func anEngineSaysTooLittle(engine: [String: String], argument: String, says: String) throws {
    let argument = try #require(ShardArgument(argument: argument))
    let error = #expect(throws: ValidationError.self) { try argument.shard(by: .line, engine) }
    #expect(error?.message.contains(says) == true, "\(error?.message ?? "")")
  }

  /// Of each format, every line goes to one shard, and all say the same of the whole list.
  @Test(arguments: ["list.txt", "list.csv", "list.json"], Shard.Unit.allCases)
  func everyLineOnce(name: String, unit: Shard.Unit) async throws {
    let place = try Workplace()
    let addresses = (0..<300).map { "http://h\($0 % 7)/f\($0)" }
    let text =
      switch name {
      case "list.csv": "url,size\n" + addresses.map { "\($0),1\n" }.joined()
      case "list.json": "[" + addresses.map { #"{"url":"\#($0)"}"# }.joined(separator: ",") + "]"
      default: addresses.joined(separator: "\n") + "\nno address\n\(addresses[0])\n"
      }
    _ = try place.folder.write(Array(text.utf8), to: name)
    var (all, rejected, shares, hosts) = ([String](), [String](), Set<String>(), [String]())
    for number in 1...4 {
      var form = ListForm()
      form.shard = Shard(numbers: number...number, count: 4, unit: unit)
      let bad = Monitor([String]())
      let reader = ListReader(
        [.list(path: place.folder.path(name))], RequestMarks(form: form),
        onReject: { rejection in bad.withState { $0.append(rejection.text) } })
      let requests = await reader.all()
      all += requests.map(\.address.key)
      hosts += Set(requests.map(\.address.host))
      rejected += bad.withState { $0 }
      guard case .object(let fields)? = await reader.share else { throw ContractFailure("no share is told") }
      shares.insert("\(fields["list"]?.text ?? "") \(fields["lines"]?.text ?? "")")
    }
    let again = name == "list.txt" ? [addresses[0]] : []
    #expect(all.sorted() == (addresses + again).sorted())
    #expect(rejected == (name == "list.txt" ? ["no address"] : []) && shares.count == 1, "\(shares)")
    if unit == .host { #expect(hosts.count == 7) }
  }

  /// A host that has most of a list is one share's, which says so, once; shares of two are as they should be.
  @Test(arguments: [Shard.Unit.line, .host])
  func aHostThatHasMost(unit: Shard.Unit) async throws {
    let place = try Workplace()
    let path = try place.list((0..<900).map { "http://big/f\($0)" } + (0..<100).map { "http://h\($0)/f" })
    #expect(Shard.number(of: "big", among: 10) == 6)
    for numbers in [6...6, 1...5, 6...10] {
      var form = ListForm()
      form.shard = Shard(numbers: numbers, count: 10, unit: unit)
      let told = Monitor([String]())
      let reader = ListReader(
        [.list(path: path)], RequestMarks(form: form), onFormat: { text in told.withState { $0.append(text) } })
      _ = await reader.all()
      let said = told.withState { $0 }.filter { $0.contains("--shard-by line --per-host 6") }
      #expect(said.count == (unit == .host && numbers.count == 1 ? 1 : 0), "\(numbers): \(said)")
    }
  }

  @Test func anEmptyShardIsSaid() async throws {
    let place = try Workplace()
    let path = try place.list(["http://127.0.0.1:9/a"])
    let number = 3 - Shard.number(of: "http://127.0.0.1:9/a", among: 2)
    let run = try await place.dlm("get", path, "--shard", "\(number)/2")
    #expect(run.status == 0 && run.errorText == "dlm: shard \(number)/2 of \(path) has no URLs\n", "\(run.errorText)")
  }

  /// The story: of two shards, one had all of a list of one host, and did not say so.
  @Test(arguments: [(31, 31, true), (30, 31, false), (0, 0, false)])
  func aHostThatHasAllForTwo(taken: Int, lines: Int, says: Bool) {
    let shard = Shard(numbers: 1...1, count: 2, unit: .host)
    #expect((shard.remedy(taken: taken, of: lines) != nil) == says)
  }

  private struct ContractFailure: Error {
    let text: String
    init(_ text: String) { self.text = text }
  }
}

@Suite("With --shard-by host, a host that has too much of a list goes by line")
struct HostsByLineTests {
  struct Row: Sendable {
    let shards: Int
    /// Lines of each host; of "" those that are no address.
    let hosts: [String: Int]
    var others = 0
    let byLine: Set<String>
  }

  static let rows = [
    Row(shards: 10, hosts: ["a": 201, "b": 200], others: 599, byLine: []),
    Row(shards: 10, hosts: ["a": 201, "b": 200, "": 599], byLine: ["a"]),
    Row(shards: 10, hosts: ["a": 300, "b": 260], others: 440, byLine: ["a", "b"]),
    // Of two and three shards, most of the list.
    Row(shards: 2, hosts: ["a": 31], byLine: ["a"]), Row(shards: 2, hosts: ["a": 16, "b": 15], byLine: ["a"]),
    Row(shards: 2, hosts: ["a": 15, "b": 15], byLine: []), Row(shards: 3, hosts: ["a": 16, "b": 15], byLine: ["a"]),
    Row(shards: 4, hosts: ["a": 15, "b": 15], byLine: []),
    Row(shards: 5, hosts: ["a": 15, "b": 15], byLine: ["a", "b"]),
    Row(shards: 1000, hosts: ["a": 3], others: 997, byLine: ["a"]), Row(shards: 20, hosts: [:], byLine: []),
    Row(shards: .max, hosts: ["a": 2], byLine: ["a"]), Row(shards: 100, hosts: ["a": 1], others: 9, byLine: []),
  ]

  @Test(arguments: rows.indices, [0, 1, 2]) func whichDo(index: Int, order: Int) {
    let row = Self.rows[index]
    var lines = row.hosts.sorted { $0.key < $1.key }.flatMap { Array(repeating: $0.key, count: $0.value) }
    lines += (0..<row.others).map { "h\($0)" }
    if order == 1 { lines.reverse() }
    // Every seventh first, then the one behind each of these.
    if order == 2 { lines = (0..<7).flatMap { start in stride(from: start, to: lines.count, by: 7).map { lines[$0] } } }
    var counts = Shard.HostCounts(shards: row.shards)
    for line in lines { counts.add(line.isEmpty ? nil : line) }
    // What is too much by a little is found where there is room for all hosts.
    let isExact = row.others == 0 || row.shards > 100
    #expect(counts.tooMany == row.byLine || !isExact && counts.tooMany.isSubset(of: ["a"]), "\(counts.tooMany)")
    #expect(counts.counts.count <= 4 * max(4, row.shards.magnitude > 1 << 16 ? 1 << 16 : row.shards))
  }

  @Test func theirLimitIsDivided() {
    func ceiling(_ numbers: ClosedRange<Int>, of count: Int, _ most: Int) -> Int? {
      Shard(numbers: numbers, count: count, unit: .host, byLine: ["a:81"]).ceilings(of: most)["a:81"]
    }
    #expect(ceiling(3...3, of: 4, 64) == 16 && ceiling(3...4, of: 4, 64) == 32 && ceiling(1...4, of: 4, 64) == 64)
    #expect(ceiling(1...1, of: 3, 8) == 2 && ceiling(1...1, of: 1000, 64) == 1 && ceiling(1...1, of: 2, 1) == 1)
    #expect(ceiling(1...Int.max, of: .max, 64) == 64)
    #expect(Shard(numbers: 1...1, count: 4, unit: .host).ceilings(of: 64) == [:])
  }

  /// Each format is read twice by its own reader; all shards decide alike, and each line goes to one.
  @Test(arguments: ["list.txt", "list.csv", "list.json", "list.meta4"]) func everyLineOnce(name: String) async throws {
    let place = try Workplace()
    let addresses = (0..<300).map { $0 < 200 ? "http://big:81/f\($0)" : "http://h\($0 % 7)/f\($0)" }
    let text =
      switch name {
      case "list.csv": "url,size\n" + addresses.map { "\($0),1\n" }.joined()
      case "list.json": "[" + addresses.map { #"{"url":"\#($0)"}"# }.joined(separator: ",") + "]"
      case "list.meta4":
        #"<metalink xmlns="urn:ietf:params:xml:ns:metalink">"#
          + addresses.enumerated().map { #"<file name="n\#($0)"><url>\#($1)</url></file>"# }.joined() + "</metalink>"
      default: addresses.joined(separator: "\n") + "\nno address\n"
      }
    try place.folder.write(text, to: name)
    let source = Source.list(path: place.folder.path(name))
    var (all, hosts) = ([String](), [String]())
    for number in 1...4 {
      var form = ListForm()
      form.shard = Shard(numbers: number...number, count: 4, unit: .host)
      let said = await form.findHostsByLine(in: [source])
      #expect(form.shard?.byLine == ["big:81"] && form.shard?.function == 2)
      #expect(said == ["dlm: big:81 would make one shard too long, and is shared out by line"])
      let requests = await ListReader([source], RequestMarks(form: form)).all()
      all += requests.map(\.address.key)
      hosts += Set(requests.map(\.address.host))
    }
    #expect(all.sorted() == addresses.sorted())
    #expect(hosts.count { $0 == "big" } == 4 && hosts.count == 11, "the other seven stay in one")
  }

  /// Without such a host, and where nobody can look, all is as it was.
  @Test func otherwiseNothingChanges() async throws {
    let place = try Workplace()
    let even = Source.list(path: try place.list((0..<40).map { "http://h\($0)/f" }, name: "even"))
    let big = Source.list(path: try place.list((0..<40).map { "http://big/f\($0)" }))
    let shard = Shard(numbers: 1...1, count: 4, unit: .host)
    for (source, unit, byLine) in [
      (even, Shard.Unit.host, Set<String>()), (big, .line, nil), (.standardInput, .host, nil),
      (.listAt("http://h/"), .host, nil),
      (big, .host, Set(["big"])),
    ] as [(Source, Shard.Unit, Set<String>?)] {
      var form = ListForm()
      form.shard = Shard(numbers: shard.numbers, count: shard.count, unit: unit)
      #expect(await form.findHostsByLine(in: [source]).isEmpty == (byLine?.isEmpty != false))
      #expect(form.shard?.byLine == byLine && form.shard?.function == (byLine?.isEmpty == false ? 2 : 1))
    }
  }

  @Test func throughTheCommand() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let names = (0..<12).map { "/f\($0)" }
    for name in names { origin.route(name, .file(Array(name.utf8))) }
    _ = try place.list(names.map { origin.url($0) })
    for number in 1...2 {
      let run = try await place.dlm(
        "get", "urls.txt", "-d", "out", "--shard", "\(number)/2", "--shard-by", "host", "--summary-json",
        "\(number).json", "--no-compare")
      #expect(run.status == 0 && run.errorText.contains("is shared out by line"), "\(run.errorText)")
    }
    let merge = try await place.start(["merge", "1.json", "2.json"]).waitForExit()
    #expect(merge.outputText == "12 of 12 files done; 2 reports of 2 shards\n", "\(merge)")
    #expect(try place.names(in: "out").count == 12)
    // From a pipe, a host stays in one, which says why, and is of another split.
    let lone = Shard.number(of: "127.0.0.1:\(origin.port)", among: 2)
    let piped = try await place.dlm(
      "get", "-", "-d", "out", "--shard", "\(lone)/2", "--shard-by", "host", "--summary-json", "piped.json",
      input: try place.folder.read("work/urls.txt"))
    let said = piped.errorText.replacing("\n", with: " ")
    #expect(said.contains("has 12 of 12 files, as a host stays in one where the list can be read only once"), "\(said)")
    let mixed = try await place.start(["merge", "1.json", "2.json", "piped.json"]).waitForExit()
    #expect(mixed.errorText.contains("piped.json is of another split of the list"), "\(mixed.errorText)")
  }
}

@Suite("dlm merge adds up the reports of shards")
struct MergeCommandTests {
  private static func report(
    _ first: Int, _ last: Int? = nil, of count: Int = 1000, by: String = "line", list: String = "l",
    lines: Int = 100_000, files: Int? = 100,
    done: Int = 100, failed: Int = 0, forGood: Int = 0, rejected: Int = 0, notBegun: Int = 0
  ) throws -> ShardReport {
    let json = """
      {"shard":{"first":\(first),"last":\(last ?? first),"of":\(count),"by":"\(by)","function":1,"list":"\(list)",
      "lines":\(lines)},"files":\(files.map { "\($0)" } ?? "null"),"done":\(done),"failed":\(failed),
      "failedForGood":\(forGood),"rejected":\(rejected),"cancelled":0,"notBegun":\(notBegun)}
      """
    return try JSONDecoder().decode(ShardReport.self, from: Data(json.utf8))
  }

  private static func all(_ change: (inout [(path: String, report: ShardReport?)]) throws -> Void) throws -> ShardMerge
  {
    var reports: [(path: String, report: ShardReport?)] = try (1...1000).map { ("\($0).json", try report($0)) }
    try change(&reports)
    return ShardMerge(reports)
  }

  @Test func aThousandReports() throws {
    let merge = try Self.all { $0.shuffle() }
    #expect(merge.troubles == [] && merge.again == [] && merge.status == .success)
    #expect(merge.line == "100,000 of 100,000 files done; 1000 reports of 1,000 shards", "\(merge.line)")
  }

  @Test func oneMissingOneDoubledOneOfAnotherList() throws {
    let merge = try Self.all {
      $0.remove(at: 6)
      $0.append(("again.json", try Self.report(9, done: 90, failed: 10)))
      $0.append(("other.json", try Self.report(7, list: "m")))
      $0.append(("split.json", try Self.report(7, of: 20)))
      $0.append(("text", nil))
    }
    #expect(
      Set(merge.troubles) == [
        "shard 7/1000 has no report: dlm get LIST --shard 7/1000",
        "again.json has what 9.json has too, and is skipped",
        "other.json is of another list, and is skipped", "split.json is of another split of the list, and is skipped",
        "text cannot be read: No such file or directory",
      ])
    #expect(merge.missing == [7...7] && merge.status == .tryAgain)
    #expect(merge.line.hasPrefix("99,900 of 100,000 files done, 100 missing; 999 reports"), "\(merge.line)")
  }

  @Test func whatBreaksTheSum() throws {
    let rows: [(ShardReport, String?, dlm.ExitStatus)] = [
      (try Self.report(1, done: 60, failed: 40), nil, .tryAgain),
      (try Self.report(1, done: 60, failed: 40, forGood: 1), nil, .failed),
      (try Self.report(1, files: 98, done: 98, failed: 2, forGood: 2, rejected: 2), nil, .failed),
      (try Self.report(1, done: 60, notBegun: 40), "shard 1/1000 has 40 files left to do", .tryAgain),
      (try Self.report(1, done: 99), "shard 1/1000 has 100 lines, and has results of 99", .tryAgain),
      (
        try Self.report(1, files: 99, done: 99), "the list has 100,000 lines, and its shards together 99,999", .tryAgain
      ),
    ]
    for (report, says, status) in rows {
      let merge = try Self.all { $0[0].report = report }
      #expect(merge.status == status && merge.troubles.count == (says == nil ? 0 : 1), "\(merge.troubles)")
      if let says { #expect(merge.troubles.first?.hasPrefix(says) == true, "\(merge.troubles)") }
    }
    // Of the list, such a run knows only what it read.
    let cut = try Self.all { $0[0].report = try Self.report(1, list: "begun", lines: 50, files: nil, done: 5) }
    #expect(
      Set(cut.troubles) == [
        "1.json is of a run that did not read its list to the end, and is skipped",
        "shard 1/1000 has no report: dlm get LIST --shard 1/1000",
      ])
    for (first, last) in [(0, 1), (2, 1), (7, 1001), (1, Int.max)] {
      #expect(try !Self.report(first, last).isPossible)
    }
    let hosts = ShardMerge([("a", try Self.report(1, of: 2, by: "host"))])
    #expect(hosts.troubles == ["shard 2/2 has no report: dlm get LIST --shard 2/2 --shard-by host"])
    let ranges = ShardMerge([("a", try Self.report(1, 600, lines: 100)), ("b", try Self.report(600, 1000, lines: 100))])
    #expect(ranges.troubles.contains("b has what a has too, and is skipped") && ranges.missing == [601...1000])
    #expect(ShardMerge([]).status == .sourceUnreadable)
  }

  /// As by a job array: three of four run, one is missing, and what failed is one list.
  @Test func throughTheCommand() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let names = (0..<40).map { "/f\($0)" }
    for name in names { origin.route(name, name == "/f3" ? .status(404) : .file(Array(name.utf8))) }
    _ = try place.list(names.map { origin.url($0) })
    func shard(_ number: Int) async throws {
      _ = try await place.dlm(
        "get", "urls.txt", "-d", "out", "--shard", "\(number)/4", "--summary-json", "\(number).json", "--failed",
        "\(number).failed", "--no-compare")
    }
    let failing = Shard.number(of: origin.url("/f3"), among: 4)
    let missing = failing % 4 + 1
    for number in 1...4 where number != missing { try await shard(number) }
    let reports = (1...4).filter { $0 != missing }.map { "\($0).json" }
    let first = try await place.start(["merge"] + reports + ["--again", "again"]).waitForExit()
    #expect(first.status == 1 && first.errorText.contains("shard \(missing)/4 has no report: dlm get LIST"))
    let again = String(decoding: try place.file("again"), as: UTF8.self)
    #expect(
      again.hasPrefix("# shard \(missing)/4 has no report\n")
        && again.contains("\n\(origin.url("/f3"))\tdirectory=out\n"))
    try await shard(missing)
    origin.route("/f3", .file([3]))
    #expect(try await place.dlm("get", "again", "--no-compare").status == 0)
    try await shard(failing)
    let whole = try await place.start(["merge"] + (1...4).map { "\($0).json" }).waitForExit()
    #expect(whole.status == 0 && whole.errorText.isEmpty, "\(whole.errorText)")
    #expect(whole.outputText == "40 of 40 files done; 4 reports of 4 shards\n", "\(whole.outputText)")
    #expect(try place.names(in: "out").count == 40)
    // One that was interrupted while its list still came.
    let cut = try place.start(
      ["get", "-", "-d", "cut", "--shard", "1-4/4", "--summary-json", "cut.json"], input: .open)
    cut.write(Array("\(origin.url("/f1"))\n".utf8))
    try await place.wait(forSize: 3, of: "cut/f1")
    cut.send(SIGINT)
    #expect(try await cut.waitForExit().status == 130)
    let more = try await place.start(["merge", "cut.json"] + (1...4).map { "\($0).json" }).waitForExit()
    #expect(more.outputText == whole.outputText && more.status == 1)
    #expect(more.errorText.contains("cut.json is of a run that did not read its list"), "\(more.errorText)")
    // Without --failed nobody knows what failed, and the list does not say that nothing did.
    _ = try await place.start(["get", origin.url("/none"), "--shard", "1/1", "--summary-json", "none.json"])
      .waitForExit()
    let unknown = try await place.start(["merge", "none.json", "--again", "left"]).waitForExit()
    #expect(unknown.errorText.contains("none.json names none"), "\(unknown.errorText)")
    #expect(try place.file("left") == Array("# what failed could not be read\n".utf8))
  }

  /// Another user may have written a report: only a list beside it is copied, and its words are in no command.
  @Test(arguments: ["/etc/passwd", "../outside", ".hidden", "link", "pipe", "folder", "list"])
  func aReportOfSomebodyElse(name: String) async throws {
    let place = try Workplace()
    _ = try place.folder.write(Array("secret\n".utf8), to: "outside")
    for file in ["list", ".hidden", "target"] {
      _ = try place.folder.write(Array("secret\n".utf8), to: "work/in/\(file)")
    }
    try place.folder.link("work/in/link", to: "target")
    mkfifo("\(place.work)/in/pipe", 0o600)
    try place.folder.makeFolder("work/in/folder")
    func report(by: String) -> String {
      #"{"shard":{"first":1,"last":1,"of":2,"by":"\#(by)","function":1,"list":"x","lines":2},"files":1,"done":0,"#
        + #""failed":1,"failedForGood":1,"rejected":0,"cancelled":0,"notBegun":0,"failed_list":"\#(name)"}"#
    }
    _ = try place.folder.write(Array(report(by: "line").utf8), to: "work/in/1.json")
    let run = try await place.start(["merge", "in/1.json", "--again", "again"]).waitForExit()
    #expect(run.status == 1, "\(run.errorText)")
    let again = String(decoding: try place.file("again"), as: UTF8.self)
    #expect((again.contains("secret") || again.contains("root:")) == (name == "list"), "\(again)")
    #expect(run.errorText.contains("put that list beside the report") == (name != "list"), "\(run.errorText)")
    _ = try place.folder.write(Array(report(by: "line; touch PWN #").utf8), to: "work/in/2.json")
    let evil = try await place.start(["merge", "in/2.json"]).waitForExit()
    #expect(evil.status == 66 && !(evil.outputText + evil.errorText).contains("PWN"), "\(evil.errorText)")
  }
}
