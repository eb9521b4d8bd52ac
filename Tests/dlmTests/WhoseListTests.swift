import DownloadModel
import Foundation
import TestSupport
import Testing

/// HTTP rules 47 to 49 and 57: whose list chose a mirror or a header line decides what its answer is worth to a request
/// of the user's for the URL alone, and what is sent there.
@Suite("What a list chose is not the owner's answer")
struct WhoseListTests {
  private static let right = SplitMix64.bytes(count: 3 << 20, seed: 81)
  private static let wrong = SplitMix64.bytes(count: 3 << 20, seed: 82)

  /// How the first run is led to the wrong bytes, or in the last case to the right ones. The owner's tag stands above
  /// all of them.
  enum Author: String, CaseIterable, Sendable {
    case owner, mirror, thirdPartyMirror, thirdPartyMirrorWithSum, thirdPartyHeader, mirrorWithSum

    /// Whether the first answer is the owner's: the server sent it for the URL alone, or the user's digest proved it.
    var isOwners: Bool { self == .owner || self == .mirrorWithSum }
    var isRight: Bool { self == .mirrorWithSum }
    var isAtURL: Bool { rawValue.hasPrefix("thirdParty") }
  }

  enum Situation: String, CaseIterable, Sendable {
    case fresh, unchanged, resumed, copied, offline, standIn

    var answer: FileOptions {
      switch self {
      case .fresh, .copied, .offline: FileOptions(headers: ["Cache-Control: max-age=1000"])
      case .unchanged: FileOptions()
      case .resumed: FileOptions(ending: .close(after: 2 << 20))
      case .standIn: FileOptions(headers: ["Cache-Control: max-age=0, stale-if-error=9999999"])
      }
    }
  }

  private struct Place {
    let owner: FaultyOrigin
    let other: FaultyOrigin
    let workplace: Workplace

    init() throws {
      owner = try FaultyOrigin()
      other = try FaultyOrigin()
      workplace = try Workplace()
    }

    func stop() {
      owner.stop()
      other.stop()
    }

    /// Runs a list of the author's; its file is `/SITUATION` of the owner's server.
    func first(_ author: Author, _ situation: Situation) async throws -> CommandResult {
      let path = "/\(situation)"
      let bytes = author.isRight ? WhoseListTests.right : WhoseListTests.wrong
      let led = OriginAnswer.file(bytes, situation.answer)
      switch author {
      case .owner: owner.route(path, led)
      case .thirdPartyHeader: owner.route(path, .either({ $1["x-site"] != nil }, led, else: .status(404)))
      default:
        owner.route(path, .status(404))
        other.route(path, led)
      }
      var line = owner.url(path)
      if author == .thirdPartyHeader { line += "\theader=X-Site: b" }
      if author.rawValue.contains("irror") { line += "\tmirror=\(other.url(path))" }
      if author.rawValue.hasSuffix("WithSum") { line += "\tsha256=\(ContentDigest.of(bytes))" }
      // A header line of a list goes to the list's own server only.
      let lists = author == .thirdPartyHeader ? owner : other
      lists.route("/list\(path)", .file(Array("\(line)\n".utf8)))
      _ = try workplace.list([line])
      let list = author.isAtURL ? ["--list", lists.url("/list\(path)")] : ["urls.txt"]
      return try await run(list + ["-d", "\(situation)", "--retries", "0"])
    }

    func run(_ words: [String]) async throws -> CommandResult {
      try await workplace.start(["get"] + words + ["-s", "1", "--no-compare", "--progress", "plain"]).waitForExit()
    }
  }

  /// Afterwards the user asks for the URL alone, and the owner's server sends the right bytes under the tag that the
  /// wrong ones came with.
  @Test(.timeLimit(.minutes(hangMinutes)), arguments: Author.allCases) func table(author: Author) async throws {
    let place = try Place()
    defer { place.stop() }
    for situation in Situation.allCases {
      let (path, folder) = ("/\(situation)", "\(situation)")
      let first = try await place.first(author, situation)
      #expect((first.status == 0) == (situation != .resumed), "\(situation): \(first.errorText)")
      place.owner.route(path, situation == .standIn ? .status(503) : .file(Self.right))
      let before = place.owner.log.count
      let there = situation == .copied ? "copies" : folder
      let more = situation == .offline ? ["--offline"] : []
      let second = try await place.run([place.owner.url(path), "-d", there, "--retries", "0"] + more)
      let isAnswered = author.isOwners || situation != .offline && situation != .standIn
      #expect((second.status == 0) == isAnswered, "\(author), \(situation): \(second.errorText)")
      let asked = place.owner.log.dropFirst(before)
      if author.isOwners {
        // What another URL answered has no lifetime, as behind a redirect.
        let isUnasked = situation == .offline || author == .owner && (situation == .fresh || situation == .copied)
        #expect(asked.isEmpty == isUnasked, "\(author), \(situation): \(asked.map(\.headers))")
      } else if situation != .offline {
        let headers = asked.first?.headers ?? [:]
        #expect(headers["if-none-match"] == nil && headers["if-range"] == nil, "\(author), \(situation): \(headers)")
        #expect(headers["range"] == nil, "\(author), \(situation): \(headers)")
      }
      guard isAnswered else { continue }
      #expect(try place.workplace.names(in: there) == [String(path.dropFirst())])
      let bytes = try place.workplace.file("\(there)\(path)")
      #expect((bytes == Self.right) == (author != .owner), "\(author), \(situation): \(second.errorText)")
    }
  }

  /// The mirror's part, and an owner that answers again, are put together if a digest proves the file. What comes of
  /// it is the list author's still: the digest is theirs, too.
  @Test func aThirdPartysDigestProvesNothingToTheUser() async throws {
    let place = try Place()
    defer { place.stop() }
    let first = try await place.first(.thirdPartyMirrorWithSum, .resumed)
    #expect(first.status != 0, "\(first.errorText)")
    place.owner.route("/resumed", .file(Self.wrong))
    let list = place.other.url("/list/resumed")
    let second = try await place.run(["--list", list, "-d", "resumed"])
    #expect(second.status == 0 && second.errorText.contains("resumed"), "\(second.errorText)")
    #expect(try place.workplace.file("resumed/resumed") == Self.wrong)
    place.owner.route("/resumed", .file(Self.right))
    let third = try await place.run([place.owner.url("/resumed"), "-d", "resumed"])
    #expect(third.status == 0, "\(third.errorText)")
    #expect(try place.workplace.file("resumed/resumed") == Self.right)
  }

  // MARK: Credentials

  @Test(arguments: [true, false], [true, false])
  func checksumsGetTheUsersLinesFromTheirOwnServerOnly(isSameOrigin: Bool, isList: Bool) async throws {
    let place = try Place()
    defer { place.stop() }
    place.owner.route("/f", .file(Self.right))
    let host = isSameOrigin ? place.owner : place.other
    host.route("/SUMS", .file(Array("\(ContentDigest.of(Self.right))  f\n".utf8)))
    _ = try place.workplace.list([place.owner.url("/f")])
    let source = isList ? "urls.txt" : place.owner.url("/f")
    let run = try await place.run([source, "--checksums", host.url("/SUMS"), "-H", "X-Key: 1"])
    #expect(run.status == 0, "\(run.errorText)")
    #expect(host.record.requests(to: "/SUMS").map { $0.headers["x-key"] } == [isSameOrigin ? "1" : nil])
    #expect(place.owner.record.requests(to: "/f").map { $0.headers["x-key"] } == ["1"])
  }

  // MARK: http in the place of https

  /// Whether the user's digest proves a file over http.
  enum HTTPProof: CaseIterable, Sendable { case none, weakSum, sum, sumsFile }

  private func proof(_ proof: HTTPProof, _ place: Workplace) throws -> (line: String, words: [String]) {
    switch proof {
    case .none: return ("", [])
    case .weakSum: return ("\tmd5=\(ContentHasher.digest(.md5, of: Self.right).hex)", [])
    case .sum: return ("\tsha256=\(ContentDigest.of(Self.right))", [])
    case .sumsFile:
      try place.folder.write(Array("\(ContentDigest.of(Self.right))  f\n".utf8), to: "work/SUMS")
      return ("", ["--checksums", "SUMS"])
    }
  }

  @Test(arguments: HTTPProof.allCases, [true, false])
  func httpInThePlaceOfHTTPS(proof: HTTPProof, isRedirect: Bool) async throws {
    let place = try Place()
    defer { place.stop() }
    let server = try await NginxServer(
      serverLines: [
        "location = /f { \(isRedirect ? "return 302 \(place.other.url("/f"))" : "return 404"); }"
      ], offersHTTP2: false)
    defer { server.stop() }
    place.other.route("/f", .file(Self.right))
    let (sum, words) = try self.proof(proof, place.workplace)
    let mirror = isRedirect ? "" : "\tmirror=\(place.other.url("/f"))"
    _ = try place.workplace.list([server.tlsURL("/f") + mirror + sum])
    let run = try await place.run(["urls.txt", "--cacert", server.caCertificatePath, "--retries", "0"] + words)
    let isProved = proof == .sum || proof == .sumsFile
    #expect((run.status == 0) == isProved, "\(run.errorText)")
    #expect(place.other.log.count == (isProved ? 1 : 0))
    #expect(try place.workplace.names().contains("f") == isProved)
    let said = isRedirect ? "https to http" : "1 http mirror of https URLs not used"
    #expect(run.errorText.contains(said) == !isProved, "\(run.errorText)")
  }

  // MARK: Nodes of one server

  /// The story: each node of a server had a tag of its own, the connection broke after 2 of 3 MiB, and the file never
  /// ended although its SHA-256 was known (HTTP rule 57).
  @Test(arguments: [true, false]) func nodesWithOtherTags(hasSum: Bool) async throws {
    let place = try Place()
    defer { place.stop() }
    let breaks = (1...3).map { node in
      OriginAnswer.file(Self.right, FileOptions(etag: "\"\(node)\"", ending: .reset(after: 2 << 20)))
    }
    place.owner.route("/f", script: breaks + [.file(Self.right, FileOptions(etag: "\"4\""))])
    let sum = hasSum ? ["--checksum", "sha256:\(ContentDigest.of(Self.right))"] : []
    let run = try await place.run([place.owner.url("/f"), "--retries", "1"] + sum)
    #expect((run.status == 0) == hasSum, "\(run.errorText)")
    if hasSum { #expect(try place.workplace.file("f") == Self.right) }
  }

  /// The story: a model hub answered a range with exactly that range, and called it 200: the last 2 of 3 MiB became the
  /// file (HTTP rule 2).
  @Test(arguments: ["1", "4"], [true, false]) func aRangeThatIsCalledWhole(segments: String, isKilled: Bool)
    async throws
  {
    let place = try Place()
    defer { place.stop() }
    place.owner.route(
      "/f", .file(Self.right, FileOptions(ending: .close(after: (1 << 20) + 100))),
      .file(Self.right, FileOptions(ranges: .calledWhole)))
    let words = ["get", place.owner.url("/f"), "-s", segments, "--require-proof", "length"]
    if isKilled { #expect(try await place.workplace.start(words + ["--retries", "0"]).waitForExit().status == 75) }
    let run = try await place.workplace.start(words).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.workplace.file("f") == Self.right)
  }
}
