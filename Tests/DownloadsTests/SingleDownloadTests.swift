import DownloadModel
import TestSupport
import Testing

@testable import Downloads

@Suite("A single download brings its file, or says why not", .timeLimit(.minutes(5)))
struct SingleDownloadTests {
  @Test func theFileIsThere() async throws {
    let place = try Place()
    let address = place.serve(1)[0]
    try await withDownloads(place.configuration()) { downloads in
      let file = try await downloads.download(address, as: "name.bin")
      #expect(file.path == "\(place.files)/name.bin" && file.size == 1000 && file.kind == .fetched)
      #expect(file.proof == .length)
    }
    #expect(try place.folder.read("files/name.bin") == Place.body(0))
  }

  @Test func failuresAreTyped() async throws {
    let place = try Place()
    let downloads = try await Downloads(place.configuration())
    func code(_ address: String, checksum: ContentDigest? = nil) async -> DownloadError.Code? {
      do throws(DownloadError) {
        _ = try await downloads.download(address, checksum: checksum)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(await code(place.origin.url("/nothing")) == .status)
    #expect(await code("gopher://h/f") == .badAddress)
    let wrong = ContentDigest(hex: String(repeating: "0", count: 64))
    #expect(await code(place.serve(1)[0], checksum: wrong) == .digest)
    await downloads.close()
    #expect(await code(place.origin.url("/f0")) == .closed)
  }

  @Test func aFolderThatCannotBeIsAnErrorOfTheSession() async throws {
    let place = try Place()
    try place.folder.write("a file", to: "files")
    let error = await #expect(throws: DownloadError.self) { try await Downloads(place.configuration()) }
    #expect(error?.code == .folder)
  }

  /// Equal addresses at a time are one transfer, and the session knows the file later on.
  @Test(arguments: [1, 2])
  func equalAddressesAreFetchedOnce(loops: Int) async throws {
    let place = try Place()
    let gate = try Gate()
    place.origin.route("/f", .late(Place.body(7), until: gate))
    let address = place.origin.url("/f")
    try await withDownloads(place.configuration { $0.loops = loops }) { downloads in
      try await withThrowingTaskGroup { group in
        for _ in 0..<5 { group.addTask { try await downloads.download(address) } }
        try await place.origin.wait(forRequests: 1)
        gate.open()
        for try await file in group { #expect(file.path == "\(place.files)/f") }
      }
      _ = try await downloads.download(address)
    }
    #expect(place.origin.record.bodyBytesSent["/f"] == Place.body(7).count)
    #expect(try place.folder.names(in: "files") == ["f"])
  }

  static let limits: [(jobs: Int, perHost: Int?, most: Int)] = [(2, nil, 2), (8, 3, 3), (1, 5, 1)]

  @Test(arguments: limits)
  func noMoreGoAtATimeThanTheConfigurationSays(jobs: Int, perHost: Int?, most: Int) async throws {
    let place = try Place()
    let gate = try Gate()
    for number in 0..<12 { place.origin.route("/f\(number)", .late(Place.body(number), until: gate)) }
    let configuration = place.configuration { ($0.jobs, $0.perHost) = (jobs, perHost) }
    try await withDownloads(configuration) { downloads in
      try await withThrowingTaskGroup { group in
        for number in 0..<12 {
          let address = place.origin.url("/f\(number)")
          group.addTask { try await downloads.download(address).size }
        }
        try await place.origin.wait(forRequests: most)
        gate.open()
        var sizes: Set<Int64> = []
        for try await size in group { sizes.insert(size) }
        #expect(sizes == Set((0..<12).map { 1000 + $0 }))
      }
    }
    #expect(place.origin.record.greatestInFlight == most)
  }

  @Test func cancellationEndsItAtOnce() async throws {
    let place = try Place()
    place.origin.route("/f", .silence())
    let address = place.origin.url("/f")
    let downloads = try await Downloads(place.configuration())
    let task = Task { try await downloads.download(address) }
    try await place.origin.wait(forRequests: 1)
    task.cancel()
    let error = await #expect(throws: DownloadError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    // The session goes on.
    #expect(try await downloads.download(place.serve(1)[0]).size == 1000)
    await downloads.close()
  }

  @Test func closingEndsWhatIsUnderWay() async throws {
    let place = try Place()
    place.origin.route("/f", .silence())
    let address = place.origin.url("/f")
    let downloads = try await Downloads(place.configuration())
    let task = Task { try await downloads.download(address) }
    try await place.origin.wait(forRequests: 1)
    #expect(await downloads.close() == [])
    let error = await #expect(throws: DownloadError.self) { try await task.value }
    #expect(error?.code == .closed)
    try await place.origin.wait(for: "closed connections") { $0.connectionsOpen == 0 }
  }

  @Test func aWaitForATurnEndsWithItsTask() async throws {
    let limit = CallLimit(1, perHost: nil)
    #expect(await limit.enter("a"))
    let waiting = Task { await limit.enter("b") }
    let cancelled = Task { await limit.enter("a") }
    cancelled.cancel()
    #expect(await cancelled.value == false)
    limit.leave("a")
    #expect(await waiting.value)
    limit.leave("b")
    #expect(await limit.enter("a"))
  }
}
