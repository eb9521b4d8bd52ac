import DownloadModel
import Downloads
import TestSupport
import Testing

@Suite("What a session with a cache folder has fetched is not fetched again", .timeLimit(.minutes(hangMinutes)))
struct SessionCacheTests {
  private static let fresh = FileOptions(headers: ["Cache-Control: max-age=3600"])

  /// In the same session, and in the next one.
  @Test(arguments: [true, false], [1, 2])
  func theSecondTimeNothingComes(inOneSession: Bool, loops: Int) async throws {
    let place = try Place()
    let addresses = place.serve(6)
    let configuration = place.configuration { $0.loops = loops }
    @Sendable func outcomes(_ downloads: Downloads) async throws -> [DownloadOutcome.Kind] {
      try await downloads.download(addresses).all().compactMap(\.file?.kind)
    }
    let first = try await Downloads(configuration)
    #expect(try await outcomes(first) == Array(repeating: .fetched, count: 6))
    if !inOneSession { await first.close() }
    let second = inOneSession ? first : try await Downloads(configuration)
    #expect(try await outcomes(second) == Array(repeating: .unchanged, count: 6))
    #expect(try await second.download(addresses[3]).kind == .unchanged)
    #expect(place.origin.record.bodyBytesSent["/f3"] == 1003)
    #expect(try place.folder.names(in: "files").count == 6)
    await second.close()
  }

  /// Some of them wait for an equal request, others come when that was answered: it is the same to the user.
  @Test(arguments: [1, 2])
  func anAddressThatStandsInTheListSeveralTimes(loops: Int) async throws {
    let place = try Place()
    let addresses = place.serve(8, options: Self.fresh)
    let list = addresses + addresses + addresses.flatMap { [$0, $0, $0] }
    let configuration = place.configuration { $0.loops = loops }
    for kind in [DownloadOutcome.Kind.fetched, .fresh] {
      try await withDownloads(configuration) { downloads in
        let kinds = try await downloads.download(list).all().compactMap(\.file?.kind)
        #expect(kinds.count == 40)
        #expect(kinds.count { $0 == kind } == (kind == .fetched ? 8 : 40))
      }
    }
    #expect(place.origin.log.count == 8)
  }

  /// Without an index the session has its files at hand, and fetches them once.
  @Test func withoutACacheFolder() async throws {
    let place = try Place()
    let addresses = place.serve(3)
    try await withDownloads(into: place.files) { downloads in
      let first = try await downloads.download(addresses).all().compactMap(\.file?.kind)
      let second = try await downloads.download(addresses).all().compactMap(\.file?.kind)
      #expect(first == Array(repeating: .fetched, count: 3))
      #expect(second == Array(repeating: .unchanged, count: 3))
    }
    #expect(place.origin.log.count == 3)
    #expect(try place.folder.names(in: "files") == ["f0", "f1", "f2"])
  }

  /// The same session asks again, by the policy.
  @Test(arguments: policies)
  func whatServersAreAskedTheSecondTime(
    caching: DownloadConfiguration.Caching, requests: Int, bodies: Int, kind: DownloadOutcome.Kind
  ) async throws {
    guard caching != .offline else { return }
    let place = try Place()
    let address = place.serve(1, options: Self.fresh)[0]
    try await withDownloads(place.configuration { $0.caching = caching }) { downloads in
      _ = try await downloads.download(address)
      let file = try await downloads.download(address)
      #expect(file.kind == kind)
    }
    #expect(place.origin.log.count == requests)
    #expect(place.origin.record.bodyBytesSent["/f0"] == bodies * 1000)
  }

  static let policies: [(DownloadConfiguration.Caching, requests: Int, bodies: Int, DownloadOutcome.Kind)] = [
    (.fresh, 1, 1, .fresh), (.revalidate, 2, 1, .unchanged), (.refresh, 2, 2, .fetched),
    (.offline, 1, 1, .fresh),
  ]

  @Test(arguments: policies)
  func whatServersAreAsked(
    caching: DownloadConfiguration.Caching, requests: Int, bodies: Int, kind: DownloadOutcome.Kind
  ) async throws {
    let place = try Place()
    let address = place.serve(1, options: Self.fresh)[0]
    try await withDownloads(place.configuration()) { _ = try await $0.download(address) }
    try await withDownloads(place.configuration { $0.caching = caching }) { downloads in
      let file = try await downloads.download(address)
      #expect(file.kind == kind)
    }
    #expect(place.origin.log.count == requests)
    #expect(place.origin.record.bodyBytesSent["/f0"] == bodies * 1000)
  }

  @Test(arguments: [true, false])
  func clearing(withASession: Bool) async throws {
    let place = try Place()
    let address = place.serve(1, options: Self.fresh)[0]
    try await withDownloads(place.configuration()) { downloads in
      _ = try await downloads.download(address)
      if withASession { try await downloads.clearCache() }
    }
    if !withASession { try await Downloads.clearCache(in: place.cache) }
    try await withDownloads(place.configuration()) { downloads in
      let file = try await downloads.download(address)
      #expect(file.kind == .fetched)
    }
    #expect(place.origin.record.bodyBytesSent["/f0"] == 2000)
  }

  static let conflicts: [(DownloadConfiguration.Conflicts, names: [String], DownloadOutcome.Kind)] = [
    (.rename, ["f0", "f0.1"], .fetched), (.skip, ["f0"], .skipped), (.overwrite, ["f0"], .fetched),
  ]

  @Test(arguments: conflicts)
  func aFileOfTheUsersUnderTheName(
    policy: DownloadConfiguration.Conflicts, names: [String], kind: DownloadOutcome.Kind
  ) async throws {
    let place = try Place()
    let address = place.serve(1)[0]
    try place.folder.write("mine", to: "files/f0")
    try await withDownloads(place.configuration { $0.conflicts = policy }) { downloads in
      let file = try await downloads.download(address)
      #expect(file.kind == kind)
    }
    #expect(try place.folder.names(in: "files") == names)
    #expect(try (place.folder.text("files/f0") == "mine") == (policy != .overwrite))
  }
}
