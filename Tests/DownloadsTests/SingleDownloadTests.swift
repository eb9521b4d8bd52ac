import DownloadModel
import TestSupport
import Testing

@testable import Downloads

@Suite("A single download brings its file, or says why not", .timeLimit(.minutes(hangMinutes)))
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

  // MARK: Progress and pause

  /// Serves a file whose first answer stalls.
  /// - Returns: its URL and its bytes.
  private func serveStalling(_ place: Place, until gate: Gate) -> (address: String, body: [UInt8]) {
    let body = SplitMix64.bytes(count: 300_000, seed: 3)
    let stalls = FileOptions(ending: .stall(after: 100_000, until: gate))
    place.origin.route("/f", .file(body, stalls), .file(body, FileOptions()))
    return (place.origin.url("/f"), body)
  }

  /// With one job, another download shows that a paused one takes no turn.
  @Test(arguments: [true, false])
  func aPausedDownloadGoesOnWhereItStopped(hasCache: Bool) async throws {
    let place = try Place()
    let gate = try Gate()
    let file = serveStalling(place, until: gate)
    let other = place.serve(1)[0]
    let configuration = place.configuration {
      $0.jobs = 1
      if !hasCache { $0.cacheFolder = nil }
    }
    try await withDownloads(configuration) { downloads in
      let control = DownloadControl(progressInterval: .milliseconds(5))
      async let outcome = downloads.download(file.address, control: control)
      var progress = control.progress.makeAsyncIterator()
      while let next = await progress.next(), next.bytes < 100_000 { #expect(next.total == 300_000) }
      control.pause()
      #expect(control.isPaused)
      #expect(try await downloads.download(other).size == 1000)
      try await place.origin.wait(for: "the end of the transfer") { $0.inFlight == 0 }
      control.resume()
      var last: DownloadProgress?
      while let next = await progress.next() { last = next }
      #expect(last?.bytes == 300_000 && last?.fraction == 1)
      #expect(try await outcome.size == 300_000)
    }
    #expect(try place.folder.read("files/f") == file.body)
    let requests = place.origin.record.requests(to: "/f")
    #expect(requests.count == 2 && requests.last?.headers["range"] != nil, "\(requests)")
  }

  @Test func aDownloadThatIsPausedBeforeItsStartWaits() async throws {
    let place = try Place()
    let addresses = place.serve(2)
    try await withDownloads(place.configuration()) { downloads in
      let control = DownloadControl()
      control.pause()
      async let paused = downloads.download(addresses[0], control: control)
      _ = try await downloads.download(addresses[1])
      #expect(place.origin.record.requests(to: "/f0").isEmpty)
      control.resume()
      #expect(try await paused.size == 1000)
    }
  }

  @Test(arguments: [true, false])
  func aPausedDownloadEndsWithItsTaskAndItsSession(byTask: Bool) async throws {
    let place = try Place()
    let address = place.serve(1)[0]
    let downloads = try await Downloads(place.configuration())
    let control = DownloadControl()
    control.pause()
    let task = Task { try await downloads.download(address, control: control) }
    if byTask { task.cancel() } else { await downloads.close() }
    let error = await #expect(throws: DownloadError.self) { try await task.value }
    #expect(error?.code == (byTask ? .cancelled : .closed))
    for await _ in control.progress { Issue.record("nothing came") }
    await downloads.close()
  }

  /// Also with one that comes before any request.
  @Test(arguments: [DownloadError.Code.status, .badAddress])
  func theProgressEndsWithAFailure(code: DownloadError.Code) async throws {
    let place = try Place()
    let address = code == .status ? place.origin.url("/nothing") : "no address"
    try await withDownloads(place.configuration()) { downloads in
      let control = DownloadControl()
      let error = await #expect(throws: DownloadError.self) {
        try await downloads.download(address, control: control)
      }
      #expect(error?.code == code)
      for await _ in control.progress { Issue.record("nothing came") }
    }
  }

  // MARK: What an item says

  @Test func mirrorsAreTriedInTheirOrder() async throws {
    let place = try Place()
    let mirror = try FaultyOrigin()
    defer { mirror.stop() }
    let good = place.serve(1)[0]
    var item = DownloadItem(place.origin.url("/gone"), name: "f")
    item.headerLines = ["X-Key: secret"]
    item.mirrors = [mirror.url("/gone"), good]
    try await withDownloads(place.configuration { $0.headerLines = ["X-All: 1"] }) { downloads in
      let file = try await downloads.download(item)
      #expect(file.size == 1000)
      item.mirrors = [mirror.url("/gone")]
      item.name = "g"
      let error = await #expect(throws: DownloadError.self) { try await downloads.download(item) }
      #expect(error?.code == .status && error?.tried.count == 2, "\(String(describing: error))")
    }
    let own = try #require(place.origin.record.requests(to: "/gone").first)
    #expect(own.headers["x-key"] == "secret" && own.headers["x-all"] == "1")
    let others = mirror.log
    #expect(!others.isEmpty && others.allSatisfy { $0.headers["x-key"] == nil }, "another origin gets no line of it")
  }

  static let unusable: [(change: @Sendable (inout DownloadItem) -> Void, code: DownloadError.Code)] = [
    ({ $0.headerLines = ["Key: secret\r\nX: 1"] }, .configuration), ({ $0.headerLines = ["secret"] }, .configuration),
    ({ $0.headerLines = ["Range: bytes=0-1"] }, .configuration), ({ $0.mirrors = ["gopher://m/f"] }, .badAddress),
    ({ $0.mirrors = ["https://m/f", "http://m/f"] }, .configuration),
  ]

  @Test(arguments: unusable.indices)
  func anItemThatCannotBeUsedFails(index: Int) async throws {
    let place = try Place()
    var item = DownloadItem("https://127.0.0.1:9/f")
    Self.unusable[index].change(&item)
    try await withDownloads(place.configuration()) { [item] downloads in
      let error = await #expect(throws: DownloadError.self) { try await downloads.download(item) }
      #expect(error?.code == Self.unusable[index].code)
      #expect(error?.description.contains("secret") == false, "a value may be a secret")
      let events = try await downloads.download([item]).all()
      #expect(events.map(\.error?.code) == [Self.unusable[index].code])
    }
  }

  @Test func aWaitForATurnEndsWithItsTask() async throws {
    let limit = Downloads.CallLimit(1, perHost: nil)
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
