import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import dlm

@Suite("What is remembered of a folder's runs is what the lines of its history come to")
struct RunHistoryTests {
  private static func run(
    _ fetched: Int = 10, _ bytes: Int64 = 1000, _ seconds: Double = 1, at time: Int64 = 0, list: String = "d"
  ) -> RunHistory.Run {
    RunHistory.Run(
      listDigest: list, jobs: 1, fetched: fetched, transferredBytes: bytes, seconds: seconds, endedAt: time)
  }

  private static func command(_ sources: String..., withheld: [Withheld] = []) -> RunHistory.Command {
    RunHistory.Command(sources: sources, options: ["--jobs=4"], withheld: withheld)
  }

  private static func whole(_ mode: DownloadMode, _ directory: String = "/w") -> RunHistory.WholeRun {
    RunHistory.WholeRun(mode: mode, listDigest: "d", directory: directory)
  }

  private static func history(_ events: [RunEvent]) -> RunHistory? { RunEvents(events).history(of: "/w") }

  // MARK: What events come to

  @Test func nothingComesOfNothing() {
    #expect(Self.history([]) == nil)
    #expect(Self.history([.void(run: "a"), .ended(run: "a", Self.whole(.parallel))]) == nil)
    // A time without a run that could be taken again.
    #expect(Self.history([.measured(.parallel, Self.run(), isOfAll: true)]) == nil)
  }

  @Test(
    arguments: [
      // Under way, or killed.
      ([.began(run: "a", command("/a"))], "/a", nil),
      ([.began(run: "a", command("/a")), .ended(run: "a", whole(.sequential))], "/a", .sequential),
      // What had ended whole is forgotten when the next run begins.
      (
        [
          .began(run: "a", command("/a")), .ended(run: "a", whole(.parallel)),
          .began(run: "b", command("/b")),
        ], "/b", nil
      ),
      // As if it had never begun: the one before it is the last again, with what it had come to.
      (
        [
          .began(run: "a", command("/a")), .ended(run: "a", whole(.parallel)),
          .began(run: "b", command("/b")), .void(run: "b"),
        ], "/a", .parallel
      ),
      // Two at once: the one that ended last is the last.
      (
        [
          .began(run: "a", command("/a")), .began(run: "b", command("/b")),
          .ended(run: "b", whole(.asyncLet)), .ended(run: "a", whole(.parallel)),
        ], "/a", .parallel
      ),
      (
        [.began(run: "a", command("/a")), .began(run: "b", command("/b")), .void(run: "a")], "/b", nil
      ),
      // The line of its beginning is torn.
      (
        [.began(run: "a", command("/a")), .ended(run: "b", whole(.parallel))], "/a", nil
      ),
    ] as [([RunEvent], String, DownloadMode?)])
  func theLastRun(events: [RunEvent], source: String, mode: DownloadMode?) {
    let history = Self.history(events)
    #expect(history?.command.sources == [source])
    #expect(history?.last?.mode == mode)
  }

  /// The list is taken again without its logins, which are not kept: that they are missing is not forgotten.
  @Test func loginsStayWithheld() {
    let first = RunEvent.began(run: "a", Self.command("/a", withheld: [.addressLogins]))
    let again = RunEvent.began(run: "b", Self.command("/a", withheld: [.proxy]))
    #expect(Self.history([first, again])?.command.withheld == [.proxy, .addressLogins])
    #expect(Self.history([again, first])?.command.withheld == [.addressLogins])
    let other = RunEvent.began(run: "c", Self.command("/c"))
    #expect(Self.history([first, other])?.command.withheld == [])
  }

  /// One unchanged rerun once erased the measured time of its mode.
  @Test(
    arguments: [
      (0, 0, false, 10), (3, 300, false, 10), (10, 1000, false, 20), (10, 1200, false, 20),
      (11, 900, false, 20), (3, 300, true, 20),
    ] as [(Int, Int64, Bool, Double)])
  func onlyTheSameWorkReplacesATime(fetched: Int, bytes: Int64, isOfAll: Bool, expected: Double) {
    let history = Self.history([
      .began(run: "a", Self.command("/a")),
      .measured(.parallel, Self.run(10, 1000, 10), isOfAll: false),
      .measured(.parallel, Self.run(fetched, bytes, 20), isOfAll: isOfAll),
    ])
    #expect(history?.runs[.parallel]?.seconds == expected)
  }

  @Test func aRunThatCanBeComparedIsPreferred() {
    let history = RunHistory(
      folder: "/", command: Self.command("/a"),
      runs: [
        .sequential: Self.run(10, 10, at: 1), .asyncLet: Self.run(0, 0, at: 2),
        .parallel: Self.run(10, 10, at: 3),
      ])
    let found = history.comparison(for: Self.run(10, 10, at: 4), in: .parallel)
    #expect(found?.mode == .sequential)
    #expect(found?.isFair == true)
    #expect(history.comparison(for: Self.run(10, 10, list: "other"), in: .parallel) == nil)
  }

  // MARK: Lines

  private static let all: [RunEvent] = [
    .began(
      run: "a1",
      RunHistory.Command(
        sources: ["/w/my list%.txt", "http://h/a?b=c d\u{1}\n", "/é/\u{301}x", "="],
        options: ["--directory=a b", "--user-agent=", ""],
        withheld: [.header(name: "X-Key: \n"), .header(name: ""), .proxy, .addressLogins])),
    .measured(.asyncLet, run(10, 1 << 40, 0.1 + 0.2, at: 1_763_816_400_123), isOfAll: false),
    .measured(.sequential, run(), isOfAll: true),
    .ended(run: "a1", whole(.parallel, "/a b/%41")),
    .began(run: "b", RunHistory.Command(sources: [])),
    .void(run: "b"),
  ]

  @Test func whatIsWrittenIsReadAgain() {
    #expect(RunEventLines.events(RunEventLines.text(Self.all)) == Self.all)
    let lines = RunEventLines.text(Self.all).split(separator: UInt8(ascii: "\n"))
    #expect(lines.count == Self.all.count)
    #expect(
      String(decoding: lines[3], as: UTF8.self)
        == "1 ended a1 mode=parallel list=d directory=/a%20b/%2541 .")
  }

  /// The power fails, or the disk is full: what came before and what comes after is read.
  @Test func aTornLineSaysNothing() {
    let before = RunEventLines.text([Self.all[3]])
    let after = RunEventLines.text([Self.all[5]])
    let torn = RunEventLines.text([Self.all[0]])
    for length in 0..<(torn.count - 1) {
      let events = RunEventLines.events(before + torn.prefix(length) + after)
      #expect(events == [Self.all[3], Self.all[5]], "\(length)")
      // A block that never came to the disk.
      let zeros = Array(repeating: UInt8(0), count: torn.count - length)
      #expect(RunEventLines.events(before + torn.prefix(length) + zeros + after) == events, "\(length)")
      #expect(RunEventLines.events(before + zeros + torn.suffix(length) + after) == events, "\(length)")
    }
  }

  @Test(
    arguments: [
      "", ".", "1", "1 void .", "2 void b .", "1 void b", "1 void b . x", "1 unknown b .", "1 void b x .",
      "1 void %zz .", "1 void b x=%ff .", "1 ended a list=d directory=/w .",
      "1 ended a mode=later list=d directory=/ .",
      "1 measured later list=d jobs=1 fetched=1 bytes=1 seconds=1 at=1 .",
      "1 measured parallel list=d jobs=1 fetched=1 bytes=1 seconds=nan at=1 .", "1  void b .",
      "{\"version\":2}",
    ])
  func aForeignLineSaysNothing(line: String) {
    #expect(RunEventLines.events(Array("\(line)\n1 void c .\n".utf8)) == [.void(run: "c")])
  }

  @Test func whatALaterVersionAddsIsPassedOver() {
    #expect(
      RunEventLines.events(Array("1 began a source=/a weather=fine withheld=more .\n".utf8))
        == [.began(run: "a", RunHistory.Command(sources: ["/a"]))])
  }

  /// Also with more runs at once than are kept, and with one whose end is still to come.
  @Test func fewerLinesSayTheSame() {
    var events = Self.all
    for number in 0..<40 {
      events += [
        .began(run: "r\(number)", Self.command("/\(number)")),
        .measured(
          DownloadMode.allCases[number % 3], Self.run(10 + number % 7, 1000, at: Int64(number)),
          isOfAll: false),
      ]
      if number % 3 > 0 { events.append(.ended(run: "r\(number)", Self.whole(.parallel))) }
    }
    let known = RunEvents(events)
    #expect(known.events.count < events.count / 2)
    #expect(RunEvents(known.events) == known)
    let more: [[RunEvent]] = [[], [.void(run: "r39")], [.ended(run: "r36", Self.whole(.sequential))]]
    for more in more {
      #expect(Self.history(known.events + more) == Self.history(events + more))
      #expect(Self.history(events + more) != nil)
    }
  }

  // MARK: Files

  private static let document = """
    {"folder":"/w","last":{"directory":"/w/data","listDigest":"d","mode":"async-let"},
    "options":["--directory=data"],"runs":{"parallel":{"endedAt":785509200.5,"fetched":3,"jobs":16,
    "listDigest":"d","seconds":1.5,"transferredBytes":64}},"sources":["/w/urls.txt"],"version":2,
    "withheld":[{"header":{"name":"X-Api-Key"}},{"proxy":{}},{"addressLogins":{}}]}
    """

  @Test func earlierVersionsDocumentsAreUnderstoodAndALaterOneLeft() {
    func events(_ text: String) -> [RunEvent]? { RunHistoryDocument(json: Array(text.utf8))?.events }
    #expect(
      events(#"{"folder": "/w", "sources": ["/w/urls.txt"], "runs": {}}"#).flatMap(Self.history)
        == RunHistory(folder: "/w", command: RunHistory.Command(sources: ["/w/urls.txt"])))
    #expect(events(#"{"version": 99, "folder": "/w", "sources": [], "runs": {}}"#) == nil)
    #expect(events("") == nil)
    #expect(
      events(Self.document).flatMap(Self.history)
        == RunHistory(
          folder: "/w",
          command: RunHistory.Command(
            sources: ["/w/urls.txt"], options: ["--directory=data"],
            withheld: [.header(name: "X-Api-Key"), .proxy, .addressLogins]),
          last: RunHistory.WholeRun(mode: .asyncLet, listDigest: "d", directory: "/w/data"),
          runs: [.parallel: Self.run(3, 64, 1.5, at: 1_763_816_400_500).with(jobs: 16)]))
  }

  private struct Place {
    let folder: TestSupport.TemporaryFolder
    let store: RunHistoryStore

    init() throws {
      folder = try TestSupport.TemporaryFolder()
      store = RunHistoryStore(state: FilePath(folder.path("state")), folder: "/w")
    }

    /// Names of files, and what is in the history.
    func names() throws -> [String] { try folder.names(in: "state/runs") }
    func text() throws -> String {
      try folder.text("state/runs/" + (try names().first { $0.hasSuffix(".runs") } ?? "none"))
    }
    var stem: String { String(store.spoolPath?.stem ?? "") }
  }

  @Test func eachRunAddsLinesThatOnlyThisUserReads() throws {
    let place = try Place()
    #expect(place.store.load() == nil)
    #expect(try place.store.append([.began(run: "a", Self.command("/a"))]) == false)
    #expect(try place.store.append([.ended(run: "a", Self.whole(.parallel))]))
    #expect(try place.names() == ["\(place.stem).runs"])
    #expect(
      try place.text()
        == "\n1 began a source=/a option=--jobs=4 .\n\n1 ended a mode=parallel list=d directory=/w .\n")
    #expect(place.store.load()?.last == Self.whole(.parallel))
    for (name, rights) in [("", 0o700), ("/\(place.stem).runs", 0o600)] as [(String, mode_t)] {
      var status = stat()
      #expect(stat(place.folder.path("state/runs\(name)"), &status) == 0)
      #expect(status.st_mode & 0o777 == rights)
    }
  }

  @Test func aDocumentIsReadAndTakenIntoTheLines() throws {
    let place = try Place()
    try place.folder.write(Self.document, to: "state/runs/\(place.stem).json")
    #expect(place.store.load()?.command.sources == ["/w/urls.txt"])
    #expect(try place.names() == ["\(place.stem).json"])
    #expect(try place.store.append([.began(run: "a", Self.command("/a"))]))
    #expect(try place.names() == ["\(place.stem).runs"])
    #expect(place.store.load()?.command.sources == ["/a"])
    #expect(place.store.load()?.runs[.parallel]?.seconds == 1.5)
    #expect(try place.store.append([.void(run: "a")]))
    #expect(place.store.load()?.last?.directory == "/w/data")
  }

  @Test func theFileStaysShort() throws {
    let place = try Place()
    try place.store.append([
      .began(run: "a", Self.command("/a")), .measured(.asyncLet, Self.run(), isOfAll: true),
    ])
    for number in 0..<300 {
      try place.store.append([.began(run: "r\(number)", Self.command("/\(number)"))])
      try place.store.append([.measured(.parallel, Self.run(at: Int64(number)), isOfAll: true)])
      #expect(try place.text().utf8.count <= RunHistoryStore.longestFile)
    }
    let history = place.store.load()
    #expect(history?.command.sources == ["/299"])
    #expect(history?.runs[.asyncLet] == Self.run())
    #expect(history?.runs[.parallel]?.endedAt == 299)
    #expect(try place.names() == ["\(place.stem).runs"])
  }

  /// What counts may be longer than the bound.
  @Test func aLongCommandIsKept() throws {
    let place = try Place()
    let long = RunHistory.Command(sources: (0..<2000).map { "http://127.0.0.1/file-\($0)" })
    try place.store.append([.began(run: "a", Self.command("/a"))])
    try place.store.append([.began(run: "b", long)])
    #expect(place.store.load()?.command == long)
    try place.store.append([.void(run: "b")])
    #expect(place.store.load()?.command.sources == ["/a"])
  }

  /// Lines are neither mixed nor lost, also while the file is replaced.
  @Test func severalAtOnce() async throws {
    let place = try Place()
    let store = place.store
    try await withThrowingTaskGroup { group in
      for writer in 0..<4 {
        group.addTask {
          for number in 0..<100 {
            let mode = DownloadMode.allCases[writer % 3]
            let list = "\(writer)-\(number)-" + String(repeating: "x", count: 200)
            if writer < 3 {
              try store.append([.measured(mode, Self.run(at: Int64(number), list: list), isOfAll: true)])
            } else {
              try store.append([.began(run: "\(number)", Self.command("/\(number)"))])
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let history = store.load()
    #expect(history?.command.sources == ["/99"])
    for mode in DownloadMode.strategies { #expect(history?.runs[mode]?.endedAt == 99, "\(mode)") }
  }

  @Test func whereThereIsNoFolderNothingIsRemembered() throws {
    let store = RunHistoryStore(state: nil, folder: "/w")
    try store.append([.began(run: "a", Self.command("/a"))])
    #expect(store.load() == nil)
    let place = try Place()
    try place.folder.write("no folder", to: "state")
    #expect(throws: Errno.notDirectory) {
      try place.store.append([.began(run: "a", Self.command("/a"))])
    }
  }
}

extension RunHistory.Run {
  fileprivate func with(jobs: Int) -> Self {
    var run = self
    run.jobs = jobs
    return run
  }
}
