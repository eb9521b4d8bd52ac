import DownloadModel
import TestSupport
import Testing

@testable import FileReceiving

@Suite("A file that stands under the wanted name (HTTP rule 22)")
struct ConflictTests {
  private static let body = pattern(5000)

  private static func fetch(
    _ bench: Bench, policy: ConflictPolicy = .rename, own: CacheRow? = nil, requested: String? = nil,
    seed: UInt8 = 0
  ) throws -> (DownloadOutcome, CacheRow?) {
    let file = FileDownload(try bench.plan(requested: requested, own: own, policy: policy, isIndexed: true))
    let (_, receipt) = try FakeAnswer.ok(pattern(5000, seed: seed)).give(to: file)
    guard case .whole = try file.ended(receipt) else { throw FileDownload.NotWhole() }
    return try file.placed(own: own)
  }

  @Test(arguments: [true, false])
  func renamed(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try bench.folder.write("mine", to: "x")
    try bench.folder.write("mine too", to: "x.1")
    let (outcome, row) = try Self.fetch(bench)
    #expect(outcome.path.hasSuffix("/x.2") && outcome.renamedFrom?.hasSuffix("/x") == true)
    #expect(row?.name == "x.2" && row?.wanted == "x")
    #expect(try bench.folder.text("x") == "mine" && bench.folder.text("x.1") == "mine too")
    #expect(try bench.folder.names() == ["x", "x.1", "x.2"])
  }

  @Test(arguments: [true, false])
  func overwritten(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try bench.folder.write("mine", to: "x")
    let (outcome, _) = try Self.fetch(bench, policy: .overwrite)
    #expect(outcome.renamedFrom == nil)
    #expect(try bench.folder.read("x") == Self.body)
    #expect(try bench.folder.names() == ["x"])
  }

  /// A name that the user or the list gives is exact, unless the user says otherwise.
  @Test(
    arguments: [
      (nil, nil, true), (nil, "x", false), (.fail, nil, false), (.fail, "x", false), (.rename, "x", true),
      (.ask, "x", true),
    ] as [(ConflictPolicy?, String?, Bool)])
  func exactNames(policy: ConflictPolicy?, requested: String?, isNumbered: Bool) throws {
    // By the length, before the body comes, and by the bytes.
    for standing in [Array("mine".utf8), pattern(5000, seed: 9)] {
      let bench = try Bench()
      try bench.folder.write(standing, to: "x")
      let file = FileDownload(try bench.plan(requested: requested) { $0.conflictPolicy = policy })
      let get = { try file.commit(try FakeAnswer.ok(Self.body).give(to: file).1) }
      if isNumbered {
        #expect(try get().path.hasSuffix("/x.1"))
      } else {
        let error = #expect(throws: DownloadError.self) { _ = try get() }
        #expect(error?.code == .conflict && error?.path?.hasSuffix("/x") == true)
        #expect(file.look { $0.transferred } == (standing.count == 4 ? 0 : 5000))
      }
      #expect(try bench.folder.read("x") == standing)
      #expect(try bench.folder.names().contains("x.1") == isNumbered)
    }
  }

  @Test func aFolderIsNeverOverwritten() throws {
    let bench = try Bench()
    try bench.folder.makeFolder("x")
    let error = #expect(throws: DownloadError.self) { _ = try Self.fetch(bench, policy: .overwrite) }
    #expect(error?.code == .conflict && error?.path?.hasSuffix("/x") == true)
  }

  /// Known only by the answer: the body is not even taken.
  @Test func skippedWhenTheServerNamesIt() throws {
    let bench = try Bench()
    try bench.folder.write("mine", to: "report.pdf")
    let file = FileDownload(try bench.plan(policy: .skip))
    let answer = FakeAnswer(
      200, ["Content-Length": "5000", "Content-Disposition": "attachment; filename=report.pdf"],
      body: Self.body)
    let (_, receipt) = try answer.give(to: file)
    #expect(receipt.bodyBytes == 0)
    #expect(try file.ended(receipt) == .skipped)
    #expect(file.finalName == "report.pdf")
    try file.abandon()
    #expect(try bench.folder.names() == ["report.pdf"])
  }

  /// It appeared while the body came.
  @Test(arguments: [true, false])
  func skippedAtTheLastMoment(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let file = FileDownload(try bench.plan(policy: .skip))
    let (_, receipt) = try FakeAnswer.ok(Self.body).give(to: file)
    try bench.folder.write("mine", to: "x")
    let outcome = try file.commit(receipt)
    #expect(outcome.kind == .skipped && outcome.size == 4)
    #expect(try bench.folder.text("x") == "mine")
    #expect(try bench.folder.names() == ["x"])
  }

  @Test(arguments: [true, false], ConflictPolicy.allCases)
  func dlmsOwnUntouchedFileIsReplaced(usesUnnamedFiles: Bool, policy: ConflictPolicy) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let (_, row) = try Self.fetch(bench)
    let (outcome, _) = try Self.fetch(bench, policy: policy, own: row, seed: 3)
    #expect(outcome.kind == .fetched && outcome.renamedFrom == nil)
    #expect(try bench.folder.read("x") == pattern(5000, seed: 3))
    #expect(try bench.folder.names() == ["x"])
  }

  /// A foreign file took the name long ago, and dlm's own stands beside it: no third one is made.
  @Test func dlmsOwnRenamedFileIsReplaced() throws {
    let bench = try Bench()
    try bench.folder.write("mine", to: "x")
    let (_, row) = try Self.fetch(bench)
    let (outcome, again) = try Self.fetch(bench, own: row, seed: 3)
    #expect(outcome.path.hasSuffix("/x.1") && again?.name == "x.1" && again?.wanted == "x")
    #expect(try bench.folder.read("x.1") == pattern(5000, seed: 3))
    #expect(try bench.folder.names() == ["x", "x.1"])
  }

  @Test func dlmsOwnTouchedFileIsKept() throws {
    let bench = try Bench()
    let (_, row) = try Self.fetch(bench)
    try bench.folder.write("edited by hand", to: "x")
    let (outcome, _) = try Self.fetch(bench, own: row, seed: 3)
    #expect(outcome.path.hasSuffix("/x.1"))
    #expect(try bench.folder.text("x") == "edited by hand")
  }

  @Test func anUnaskedIndexIsAskedBeforeThePolicyDecides() throws {
    let bench = try Bench()
    let (_, row) = try Self.fetch(bench)
    let file = FileDownload(try bench.plan(isIndexed: true))
    let (_, receipt) = try FakeAnswer.ok(pattern(5000, seed: 3)).give(to: file)
    _ = try file.ended(receipt)
    #expect(try file.place(.unknown, proof: .length) == .ownershipUnknown)
    _ = try file.placed(own: row)
    #expect(try bench.folder.names() == ["x"])
  }

  @Test func theRowHasTheNameThatTheFileGot() throws {
    let bench = try Bench()
    try bench.folder.write("mine", to: "x")
    let file = FileDownload(try bench.plan(isIndexed: true))
    var answer = FakeAnswer.ok(Self.body)
    answer.head?.effectiveURL = "http://mirror/z?X-Amz-Signature=1"
    let (_, receipt) = try answer.give(to: file)
    _ = try file.ended(receipt)
    let row = try #require(try file.placed().1)
    #expect(row.name == "x.1" && row.wanted == "x" && row.effectiveURL == "http://mirror/z")
    #expect(row.isIntact)
  }

  /// Ten thousand files called index.html: each must not walk past all the others.
  @Test func namesAreNumberedWithoutWalking() throws {
    let bench = try Bench()
    for _ in 0..<20 { _ = try Self.fetch(bench) }
    #expect(try bench.folder.names().count == 20)
    #expect(bench.directory.numbers.first(beside: "x") == 20)
    for number in 0..<5000 { bench.directory.numbers.took(1, beside: "name\(number)") }
    #expect(bench.directory.numbers.first(beside: "x") == 1)
  }

  @Test func theUsersNameBeatsTheServers() throws {
    let bench = try Bench()
    let file = FileDownload(try bench.plan(requested: "chosen"))
    let answer = FakeAnswer(200, ["Content-Disposition": "attachment; filename=report.pdf"], body: Self.body)
    #expect(try file.commit(try answer.give(to: file).1).path.hasSuffix("/chosen"))
    let plain = FileDownload(try bench.plan(usesContentDisposition: false))
    #expect(try plain.commit(try answer.give(to: plain).1).path.hasSuffix("/x"))
  }

  /// Of many files of one length only those that begin alike are compared, and each is given once.
  @Test func anEqualFileIsFoundUnderAnyNumber() throws {
    let bench = try Bench()
    for (name, seed) in [("x", 1), ("x.1", 2), ("x.2", 0), ("x.3", 3), ("x.5", 0)] as [(String, UInt8)] {
      try bench.folder.write(pattern(5000, seed: seed), to: name)
    }
    // Longer than what is hashed of a file, and different behind that.
    try bench.folder.write(Self.body.dropLast() + [Self.body[4999] ^ 1], to: "x.4")
    let later = try bench.laterProcess()
    var names: [String?] = []
    for host in ["a", "b", "c"] {
      let file = FileDownload(try later.plan("http://\(host)/x", isIndexed: true))
      _ = try file.ended(try FakeAnswer.ok(Self.body).give(to: file).1)
      names.append(try Commit(file, proof: .length).adopt(FileOwners())?.outcome.name)
    }
    #expect(names == ["x.2", "x.5", nil])
  }
}
