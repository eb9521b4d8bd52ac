import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A file has one address, in every run (HTTP rule 22)", .serialized)
struct OneAddressOneFileTests {
  /// Two addresses ended in one name and had the same bytes. A run over the second took the first one's file
  /// for its own; when the first changed, it was fetched over that file, the second was called unchanged, and
  /// no file held it any more: data lost with exit 0.
  @Test(arguments: [[], ["--no-cache"]])
  func theOthersFileIsNotAdopted(options: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/a/x", .file([1, 2, 3], FileOptions(etag: "\"a1\"")))
    origin.route("/b/x", .file([1, 2, 3], FileOptions(etag: "\"b1\"")))
    #expect(try await place.start(["get", origin.url("/a/x")] + options).waitForExit().status == 0)
    let both = ["get", origin.url("/b/x"), origin.url("/a/x")] + options
    let second = try await place.start(both).waitForExit()
    #expect(second.status == 0)
    let two = try place.names()
    #expect(two.count == 2, "\(two)\n\(second.errorText)")
    origin.route("/a/x", .file([4, 5, 6, 7], FileOptions(etag: "\"a2\"")))
    #expect(try await place.start(both).waitForExit().status == 0)
    let bodies = try place.names().map { try place.file($0) }
    #expect(bodies.contains([1, 2, 3]) && bodies.contains([4, 5, 6, 7]), "\(bodies)")
  }

  /// How a list names its files.
  enum Naming: CaseIterable {
    case plain, out, column, sums, written

    func arguments(_ place: Workplace, _ origin: FaultyOrigin, _ bodies: [String: [UInt8]]) throws -> [String] {
      let names = bodies.keys.sorted()
      func write(_ lines: [String], _ file: String) throws -> String {
        _ = try place.folder.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: file)
        return "../\(file)"
      }
      func sum(_ name: String) -> String { ContentDigest.of(bodies[name] ?? []) }
      switch self {
      case .plain: return ["get", try write(names.map { origin.url("/\($0)") }, "plain")]
      case .out: return ["get", try write(names.map { "\(origin.url("/\($0)"))\tout=\($0)" }, "out")]
      case .column:
        let rows = names.map { "\($0),\(origin.url("/\($0)"))" }
        return ["get", try write(["name,link"] + rows, "t.csv"), "--url-field", "link", "--name-field", "name"]
      case .sums: return ["get", try write(names.map { "\(sum($0))  \($0)" }, "SHA256SUMS"), "--base", origin.url("/")]
      case .written:
        let lines = names.map {
          "\(origin.url("/\($0)"))\tout=\($0)\tsize=\(bodies[$0]?.count ?? 0)\tsha256=\(sum($0))"
        }
        return ["get", try write(lines, "written")]
      }
    }
  }

  /// A list that was fetched plain, and then by its checksums, stood there twice: `a` and `a.1`.
  @Test(arguments: Naming.allCases)
  func whicheverWayTheyWereNamed(first: Naming) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    var bodies: [String: [UInt8]] = [:]
    func serve(_ version: UInt64) {
      for (index, name) in ["a", "b.bin"].enumerated() {
        let body = SplitMix64.bytes(count: 1000, seed: version * 10 + UInt64(index))
        bodies[name] = body
        origin.route("/\(name)", .file(body, FileOptions(etag: "\"\(version)\"", revalidates: true)))
      }
    }
    serve(0)
    let before = try await place.start(first.arguments(place, origin, bodies)).waitForExit()
    #expect(before.status == 0, "\(before.errorText)")
    for (version, changes) in [(0, false), (1, true)] as [(UInt64, Bool)] {
      for (round, second) in Naming.allCases.enumerated() {
        if changes { serve(version + UInt64(round)) }
        let sent = origin.record.bodyBytesSent.values.reduce(0, +)
        let run = try await place.start(second.arguments(place, origin, bodies) + ["--no-compare"]).waitForExit()
        #expect(run.status == 0, "\(second): \(run.errorText)")
        #expect(try place.names() == ["a", "b.bin"], "\(second)")
        for (name, body) in bodies { #expect(try place.file(name) == body) }
        // On a busy machine a request is sent a second time over a warm connection, and the first taken back.
        let received = origin.record.bodyBytesSent.values.reduce(0, +) - sent
        #expect(changes ? (2000...4000).contains(received) : received == 0, "\(second)")
        if !changes { #expect(run.errorText.contains("up to date: 2 files"), "\(second): \(run.errorText)") }
        let verifies = second == .sums || second == .written
        #expect(run.errorText.contains("2 verified by checksum") == verifies, "\(second): \(run.errorText)")
      }
    }
  }

  /// The second `a` was once compared with the checksum of the first.
  @Test func numberedNamesHaveChecksumsOfTheirOwn() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for (index, path) in ["/x/a", "/y/a"].enumerated() { origin.route(path, .file([UInt8(index)])) }
    let place = try Workplace()
    _ = try place.list([origin.url("/x/a"), origin.url("/y/a")])
    let first = try await place.dlm("get", "urls.txt", "--write-checksums", "SHA256SUMS")
    #expect(first.status == 0, "\(first.errorText)")
    for folder in [".", "again"] {
      let run = try await place.dlm("get", "urls.txt", "--checksums", "SHA256SUMS", "-d", folder)
      #expect(run.status == 0 && run.errorText.contains("2 verified by checksum"), "\(run.errorText)")
    }
    #expect(try place.names(in: "again") == ["a", "a.1"])
  }

  /// Each loop's cache knows its own files only. A request that was equal to one of another loop went to whichever had
  /// a lane: it was fetched twice, and under a policy that looks at foreign files the first was taken for one.
  @Test(arguments: [[], ["--no-cache"], ["--on-conflict", "skip"], ["--on-conflict", "overwrite"]])
  func anAddressThatComesAgainIsFetchedOnce(options: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    var addresses: [String] = []
    for index in 0..<60 {
      // Some take long, so that now and then all lanes of one loop are busy.
      let ending: FileOptions.Ending =
        index % 5 == 0 ? .trickle(piece: 100, every: .milliseconds(10)) : .whole
      origin.route(
        "/f\(index)",
        .file(
          SplitMix64.bytes(count: 1000, seed: UInt64(index)),
          FileOptions(etag: "\"\(index)\"", ending: ending)))
    }
    for block in stride(from: 0, to: 60, by: 20) {
      for _ in 0..<2 { addresses += (block..<block + 20).map { origin.url("/f\($0)") } }
    }
    _ = try place.list(addresses)
    let result = try await place.start(["get", "urls.txt", "-d", "out", "-j", "4"] + options).waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(origin.log.count == 60)
    #expect(try place.names(in: "out").count == 60)
  }

  /// The same without malice: many addresses, few contents, a kill in between. It ended with as many files as
  /// had come before the kill, and said that all were there.
  @Test(arguments: [false, true])
  func fewContentsAndAKill(everyNameAlike: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let (count, contents) = (240, 7)
    let place = try Workplace()
    var addresses: [String] = []
    for index in 0..<count {
      let path = everyNameAlike ? "/\(index)/f" : "/\(index)/f\(index % 40)"
      // The later ones come slowly, so that the kill finds them on their way.
      let ending: FileOptions.Ending =
        index < 100 ? .whole : .trickle(piece: 100, every: .milliseconds(20))
      origin.route(
        path,
        .file(
          SplitMix64.bytes(count: 1000, seed: UInt64(index % contents)),
          FileOptions(etag: "\"\(index)\"", ending: ending)))
      addresses.append(origin.url(path))
    }
    _ = try place.list(addresses)
    let run = try place.start(["get", "urls.txt", "-d", "out"])
    try await origin.wait(forRequests: 130)
    run.send(SIGKILL)
    _ = try await run.waitForExit()
    let again = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(again.status == 0, "\(again.errorText)")
    let names = try place.names(in: "out")
    #expect(names.count == count)
    var counts: [[UInt8]: Int] = [:]
    for name in names { counts[try place.file("out/\(name)"), default: 0] += 1 }
    for content in 0..<contents {
      let expected = (0..<count).count { $0 % contents == content }
      #expect(counts[SplitMix64.bytes(count: 1000, seed: UInt64(content))] == expected)
    }
  }

  /// Names were given in the order of the answers: two runs over sixty addresses that end in README.md gave
  /// two mappings.
  @Test(arguments: DownloadMode.allCases, [[], ["--no-cache"]])
  func namesFollowTheListsOrder(mode: DownloadMode, options: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let count = mode == .sequential ? 12 : 60
    let place = try Workplace()
    for index in 0..<count {
      // Whoever is first in the list is last to be answered.
      let ending: FileOptions.Ending =
        mode == .sequential ? .whole : .trickle(piece: 4, every: .milliseconds((count - index) * 3))
      origin.route("/README.md?\(index)", .file(Array("number \(index)".utf8), FileOptions(ending: ending)))
    }
    _ = try place.list((0..<count).map { origin.url("/README.md?\($0)") })
    for run in 0..<3 {
      let result = try await place.start(
        ["get", "urls.txt", "-d", "out", "-m", mode.rawValue] + options
      ).waitForExit()
      #expect(result.status == 0, "\(result.errorText)")
      #expect(try place.names(in: "out").count == count, "run \(run)")
      for index in 0..<count {
        let name = index == 0 ? "README.md" : "README.\(index).md"
        #expect(try place.file("out/\(name)") == Array("number \(index)".utf8), "run \(run)")
      }
    }
  }

  /// A foreign file under the first one's name pushes no other address off its number.
  @Test func aForeignFileMovesOnlyTheOneItDisplaces() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for index in 0..<20 {
      let ending = FileOptions.Ending.trickle(piece: 4, every: .milliseconds(index == 0 ? 1 : 15))
      origin.route("/f.txt?\(index)", .file(Array("number \(index)".utf8), FileOptions(ending: ending)))
    }
    _ = try place.list((0..<20).map { origin.url("/f.txt?\($0)") })
    _ = try place.folder.write([9], to: "work/f.txt")
    for _ in 0..<2 {
      #expect(try await place.dlm("get", "urls.txt").status == 0)
      #expect(try place.file("f.txt") == [9])
      #expect(try place.file("f.20.txt") == Array("number 0".utf8))
      for index in 1..<20 { #expect(try place.file("f.\(index).txt") == Array("number \(index)".utf8)) }
      #expect(try place.names().count == 22)
    }
  }

  /// `clear-cache` and the same list again gave 20, 39, 58 files; without a cache it was more with each run.
  @Test(arguments: [true, false])
  func filesDoNotMultiply(usesCache: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    var addresses: [String] = []
    for index in 0..<20 {
      // Every third has the bytes of another; half of them are named by the server.
      let body = Array("content \(index % 3 == 0 ? 0 : index)".utf8)
      let named = ["Content-Disposition: attachment; filename=page.html"]
      origin.route("/\(index)/page.html", .file(body, FileOptions(headers: index % 2 == 0 ? [] : named)))
      addresses.append(origin.url("/\(index)/page.html"))
    }
    for run in 0..<4 {
      // In another order each time: what stands there is found under whatever number.
      _ = try place.list(run % 2 == 0 ? addresses : addresses.reversed())
      let options = usesCache ? [] : ["--no-cache"]
      let result = try await place.start(["get", "urls.txt", "-d", "out"] + options).waitForExit()
      #expect(result.status == 0, "\(result.errorText)")
      let names = try place.names(in: "out")
      #expect(names.count == 20, "run \(run): \(names)")
      if usesCache { #expect(try await place.dlm("clear-cache").status == 0) }
    }
    for index in 0..<20 {
      let body = Array("content \(index % 3 == 0 ? 0 : index)".utf8)
      let holders = try place.names(in: "out").filter { try place.file("out/\($0)") == body }
      #expect(holders.count == (index % 3 == 0 ? 7 : 1))
    }
  }

  /// The policy is about files that dlm did not write: of two addresses of one name each keeps its file.
  @Test(arguments: ["overwrite", "skip"])
  func policiesAreAboutForeignFiles(policy: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let named = FileOptions(headers: ["Content-Disposition: attachment; filename=x"])
    origin.route("/a", .file([1], named))
    origin.route("/b", .file([2], named))
    for options in [[], ["--no-cache"]] {
      let both = try await place.start(
        ["get", origin.url("/b"), origin.url("/a"), "-d", "both", "--on-conflict", policy] + options
      ).waitForExit()
      #expect(both.status == 0, "\(both.errorText)")
      #expect(Set(try place.names(in: "both").map { try place.file("both/\($0)") }) == [[1], [2]])
    }
    // In two runs the index knows whose the first file is.
    for address in ["/a", "/b"] {
      let run = try await place.dlm("get", origin.url(address), "-d", "out", "--on-conflict", policy)
      #expect(run.status == 0, "\(run.errorText)")
    }
    #expect(Set(try place.names(in: "out").map { try place.file("out/\($0)") }) == [[1], [2]])
  }
}
