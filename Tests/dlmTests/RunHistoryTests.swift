import ArgumentParser
import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import dlm

@Suite("What is remembered of a folder's runs is what the lines of its history come to")
struct RunHistoryTests {
  private static func run(
    _ fetched: Int = 10, _ bytes: Int64 = 1000, _ seconds: Double = 1, at time: Int64 = 0, list: String = "d",
    mode: DownloadMode = .parallel, directory: String? = nil, isOfAll: Bool = false, failed: Int = 0
  ) -> PastRun {
    PastRun(
      mode: mode, listDigest: list, jobs: 1, fetched: fetched, failed: failed, transferredBytes: bytes,
      seconds: seconds, endedAt: time, directory: directory, isOfAll: isOfAll)
  }

  private static func command(_ sources: String..., withheld: [RememberedCommand.Withheld] = []) -> RememberedCommand {
    RememberedCommand(sources: sources, options: ["--jobs=4"], withheld: withheld)
  }

  private static func whole(_ mode: DownloadMode, _ directory: String = "/w") -> PastRun {
    run(mode: mode, directory: directory)
  }

  private static func history(_ events: [RunEvent]) -> RunHistory? { RunHistory.all(events).last }

  /// What a second run goes by, and a first one does not look for.
  @Test func sizesOfTheLastRun() throws {
    let folder = try TestSupport.TemporaryFolder()
    let list = try folder.write(Array("http://h/a".utf8), to: "list")
    func memory() throws -> RunMemory {
      RunMemory(
        RunHistoryStore(state: FilePath(folder.path("state")), folder: folder.path), [Source(list)],
        RememberedOptions(try GetCommand.parse([list])), nil, directory: folder.path,
        mode: .parallel)
    }
    let reading = ListReader.Reading(count: 1, listDigest: "d")
    let first = try memory()
    #expect(first.read(reading, looksUp: true) == nil)
    var tally = ProgressTally()
    (tally.listed, tally.fetched, tally.bodies, tally.bodyBytes) = (3, 3, 3, 700)
    let report = RunReport(
      mode: .parallel, jobs: 1, tally: tally, received: 900, elapsed: .seconds(1), failures: [], rejections: [])
    #expect(first.ended(report, listDigest: "d", isTrial: false))
    #expect(try memory().read(reading, looksUp: true) == ExpectedSizes(files: 3, bytes: 700))
    #expect(try memory().read(ListReader.Reading(count: 1, listDigest: "other"), looksUp: true) == nil)
    #expect(try memory().read(ListReader.Reading(count: 1), looksUp: true) == nil)
  }

  // MARK: What events come to

  @Test func nothingComesOfNothing() {
    #expect(Self.history([]) == nil)
    #expect(Self.history([.void(run: "a"), .ended(run: "a", Self.whole(.parallel))]) == nil)
    // A comparison's run, which no command repeats.
    #expect(Self.history([.ended(run: nil, Self.whole(.parallel))]) == nil)
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
    let runs = [
      Self.run(10, 1000, 10), Self.run(30, 5000, 40, list: "other"),
      Self.run(fetched, bytes, 20, isOfAll: isOfAll),
    ]
    #expect(RunTimes(runs, of: "d")[.parallel]?.seconds == expected)
  }

  @Test func aRunThatCanBeComparedIsPreferred() {
    let times = RunTimes(
      [
        Self.run(10, 10, at: 1, mode: .sequential), Self.run(9, 9, at: 2, mode: .asyncLet),
        Self.run(10, 10, at: 3),
      ], of: "d")
    let found = times.comparison(for: Self.run(10, 10, at: 4))
    #expect(found?.run.mode == .sequential)
    #expect(found?.obstacle == nil)
    #expect(times.comparison(for: Self.run(0, 0, at: 4)) == nil)
    #expect(RunTimes([Self.run(10, 10, mode: .sequential)], of: "other").comparison(for: Self.run()) == nil)
    // The one waited for a file that failed, the other did not.
    #expect(times.comparison(for: Self.run(10, 10, at: 4, failed: 1))?.obstacle == .otherWork)
  }

  @Test(
    arguments: [
      (.sequential, .parallel, nil, nil, nil), (.auto, .parallel, nil, nil, .sameStrategy),
      (.parallel, .auto, nil, nil, .sameStrategy), (.auto, .sequential, nil, nil, nil),
      (.sequential, .parallel, 2, nil, .waited), (.sequential, .asyncLet, nil, 2, .waited),
    ] as [(DownloadMode, DownloadMode, Double?, Double?, PastRun.Obstacle?)])
  func likeIsComparedWithLike(
    mode: DownloadMode, other: DownloadMode, waited: Double?, otherWaited: Double?, obstacle: PastRun.Obstacle?
  ) {
    var (this, that) = (Self.run(mode: mode), Self.run(mode: other))
    (this.waited, that.waited) = (waited, otherWaited)
    #expect(this.obstacle(to: that) == obstacle)
  }

  /// One that waited for a busy server takes the place of none that did not.
  @Test(arguments: [(nil, nil, 2), (2, nil, 1), (nil, 1, 2), (2, 1, 2)] as [(Double?, Double?, Double)])
  func aTimeWithoutWaitingStays(waited: Double?, before: Double?, expected: Double) {
    var (first, second) = (Self.run(10, 1000, 1), Self.run(10, 1000, 2))
    (first.waited, second.waited) = (before, waited)
    #expect(RunTimes([first, second], of: "d")[.parallel]?.seconds == expected)
  }

  // MARK: Lines

  private static let all: [RunEvent] = [
    .began(
      run: "a1",
      RememberedCommand(
        sources: ["/w/my list%.txt", "http://h/a?b=c d\u{1}\n", "/é/\u{301}x", "="],
        options: ["--directory=a b", "--user-agent=", ""],
        withheld: [.header(name: "X-Key: \n"), .header(name: ""), .proxy, .addressLogins])),
    .ended(
      run: "a1", run(10, 1 << 40, 0.125, at: 1_763_816_400_123, mode: .asyncLet, directory: "/a b/%41\"")),
    .ended(run: nil, run(isOfAll: true, failed: 3)),
    .ended(run: "a1", whole(.parallel, "/é/\u{301}x")),
    .began(run: "b", RememberedCommand(sources: [])),
    .void(run: "b"),
  ]

  @Test func whatIsWrittenIsReadAgain() {
    #expect(RunEvent.all(in: RunEvent.text(Self.all)) == Self.all)
    let lines = RunEvent.text(Self.all).split(separator: UInt8(ascii: "\n"))
    #expect(lines.count == Self.all.count)
    #expect(
      String(decoding: lines[2], as: UTF8.self)
        == #"{"ended":{"past":{"adapts":false,"all":true,"at":0,"bytes":1000,"command":"get","directory":null,"#
        + #""failed":3,"files":10,"jobs":1,"list":"d","mode":"parallel","seconds":1.0,"sources":[],"waited":null,"#
        + #""work":null},"run":null}}"#)
  }

  /// The power fails, or the disk is full: what came before and what comes after is read.
  @Test func aTornLineSaysNothing() {
    let before = RunEvent.text([Self.all[3]])
    let after = RunEvent.text([Self.all[5]])
    let torn = RunEvent.text([Self.all[0]])
    for length in 0..<(torn.count - 1) {
      let events = RunEvent.all(in: before + torn.prefix(length) + after)
      #expect(events == [Self.all[3], Self.all[5]], "\(length)")
      // A block that never came to the disk.
      let zeros = Array(repeating: UInt8(0), count: torn.count - length)
      #expect(RunEvent.all(in: before + torn.prefix(length) + zeros + after) == events, "\(length)")
      #expect(RunEvent.all(in: before + zeros + torn.suffix(length) + after) == events, "\(length)")
    }
  }

  private static let damages: [(String, String)] = [
    (#""mode":"parallel""#, #""mode":"later""#), (#""command":"get""#, #""command":"teleport""#),
    (#""seconds":1.0"#, #""seconds":1e300"#), (#""seconds":1.0"#, #""seconds":-1"#),
    (#""seconds":1.0"#, #""seconds":null"#), (#""at":0"#, #""at":-9223372036854775808"#),
    (#""at":0"#, #""at":9223372036854775807"#), (#""at":0"#, #""at":1e30"#), (#""files":10"#, #""files":-1"#),
    (#""files":10"#, #""files":99999999999999999999"#), (#""jobs":1"#, #""jobs":-5"#),
    (#""failed":3"#, #""failed":-3"#), (#""bytes":1000"#, #""bytes":-1"#), (#""list":"d","#, ""),
    (#""sources":[]"#, #""sources":[7]"#), ("}", ""), (#""ended""#, #""unknown""#),
  ]

  /// Numbers that no run has once ended `dlm history`.
  @Test(arguments: damages)
  func aDamagedLineSaysNothing(what: String, damage: String) {
    let line = String(decoding: RunEvent.text([Self.all[2]]), as: UTF8.self)
    let damaged = line.replacing(what, with: damage)
    #expect(damaged != line)
    #expect(
      RunEvent.all(in: Array("\(damaged)\n".utf8) + RunEvent.text([.void(run: "c")])) == [
        .void(run: "c")
      ])
  }

  @Test(arguments: ["", ".", "{}", "[]", "7", "1 void b .", #"{"void":{"run":7}}"#, "\u{FFFD}{"])
  func aForeignLineSaysNothing(line: String) {
    #expect(
      RunEvent.all(in: Array("\(line)\n{\"void\":{\"run\":\"c\"}}".utf8)) == [
        .void(run: "c")
      ])
  }

  @Test func whatALaterVersionAddsIsPassedOver() {
    let line =
      #"{"began":{"run":"a","command":{"sources":["/a"],"options":[],"withheld":[],"weather":"fine"}},"more":1}"#
    #expect(RunEvent.all(in: Array(line.utf8)) == [.began(run: "a", RememberedCommand(sources: ["/a"]))])
  }

  /// Also with more runs at once than are kept, and with one whose end is still to come.
  @Test func fewerLinesSayTheSame() {
    var events = Self.all
    for number in 0..<80 {
      events.append(.began(run: "r\(number)", Self.command("/\(number)")))
      if number % 3 > 0 {
        let run = Self.run(
          10 + number % 7, 1000, at: Int64(number), mode: DownloadMode.allCases[number % 3],
          directory: number % 2 > 0 ? "/w" : nil)
        events.append(.ended(run: "r\(number)", run))
      }
    }
    let fewer = RunHistory.fewer(events)
    #expect(fewer.count < events.count * 2 / 3)
    #expect(RunHistory.fewer(fewer).count <= fewer.count)
    let more: [[RunEvent]] = [[], [.void(run: "r79")], [.ended(run: "r78", Self.whole(.sequential))]]
    for more in more {
      #expect(Self.history(fewer + more) != nil)
      #expect(Self.history(fewer + more)?.command == Self.history(events + more)?.command)
      for mode in DownloadMode.allCases {
        func time(_ events: [RunEvent]) -> Int64? {
          RunTimes(events.compactMap(\.ended), of: "d")[mode]?.endedAt
        }
        #expect(time(fewer + more) == time(events + more), "\(mode)")
      }
    }
  }

  // MARK: Files

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
      try folder.text("state/runs/" + (try names().first { $0.hasSuffix(".jsonl") } ?? "none"))
    }
    var stem: String { String(store.unnamedPath?.stem ?? "") }
  }

  @Test func eachRunAddsLinesThatOnlyThisUserReads() throws {
    let place = try Place()
    #expect(place.store.load() == nil)
    #expect(try place.store.append([.began(run: "a", Self.command("/a"))]) == false)
    #expect(try place.store.append([.void(run: "b")]))
    #expect(try place.names() == ["\(place.stem).jsonl"])
    #expect(
      try place.text()
        == "\n" + #"{"began":{"command":{"directory":null,"mode":null,"options":["--jobs=4"],"sources":["/a"],"#
        + #""withheld":[]},"run":"a"}}"# + "\n\n" + #"{"void":{"run":"b"}}"# + "\n")
    try place.store.append([.ended(run: "a", Self.whole(.parallel))])
    #expect(place.store.load()?.last == Self.whole(.parallel))
    for (name, rights) in [("", 0o700), ("/\(place.stem).jsonl", 0o600)] as [(String, mode_t)] {
      var status = stat()
      #expect(stat(place.folder.path("state/runs\(name)"), &status) == 0)
      #expect(status.st_mode & 0o777 == rights)
    }
  }

  @Test func theFileStaysShort() throws {
    let place = try Place()
    // Of the list that is run until today, and measured once in this mode.
    let first = Self.run(mode: .asyncLet)
    try place.store.append([.began(run: "a", Self.command("/a")), .ended(run: "a", first)])
    for number in 0..<1200 {
      try place.store.append([.began(run: "r\(number)", Self.command("/\(number)"))])
      try place.store.append([.ended(run: "r\(number)", Self.run(at: Int64(number)))])
      #expect(try place.text().utf8.count <= RunHistoryStore.longestFile)
    }
    #expect(place.store.load()?.command.sources == ["/1199"])
    #expect(place.store.times(of: "d")[.asyncLet]?.endedAt == 0)
    #expect(place.store.times(of: "d")[.parallel]?.endedAt == 1199)
    let kept = place.store.past
    #expect(kept.count > 100 && kept.suffix(100).map(\.endedAt) == Array(1100..<1200))
    #expect(try place.names() == ["\(place.stem).jsonl"])
  }

  /// What counts may be longer than the bound.
  @Test func aLongCommandIsKept() throws {
    let place = try Place()
    let long = RememberedCommand(sources: (0..<2000).map { "http://127.0.0.1/file-\($0)" })
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
            let list = "\(writer)-" + String(repeating: "x", count: 200)
            if writer < 3 {
              try store.append([.ended(run: nil, Self.run(at: Int64(writer * 100 + number), list: list))])
            } else {
              try store.append([.began(run: "\(number)", Self.command("/\(number)"))])
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(store.load()?.command.sources == ["/99"])
    let runs = Dictionary(grouping: store.past, by: \.listDigest).values.map { $0.map(\.endedAt) }
    // A writer that was done long before the others may have none left.
    #expect((1...3).contains(runs.count) && store.past.count > 50)
    for times in runs {
      let last = try #require(times.last)
      #expect(
        last % 100 == 99 && times == Array((last - Int64(times.count) + 1)...last), "none is lost: \(times)")
    }
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
