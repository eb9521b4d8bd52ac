import Dispatch
import DownloadModel

/// A small HTTP/1.1 origin on the loopback interface with the latency and bandwidth of a distant one, for `dlm demo`
/// and for tests: GET and HEAD, byte ranges (RFC 9110 §14), strong entity tags, 304 and If-Range. It writes no log.
package actor DemoOrigin {
  package nonisolated let catalogue: DemoCatalogue
  private let conduct: DemoServer.Conduct
  private let port: UInt16
  /// A thread of its own, since the server waits for its sockets.
  private let queue = DispatchQueue(label: "dlm.demo-origin")
  private var server: DemoServer?

  /// - Parameters:
  ///   - latency: time from a request to the first byte of its answer.
  ///   - bytesPerSecondPerConnection: how fast a body goes out on one connection; nil for no limit.
  ///   - loss: the part of all packets that is lost, from 0 to 1; each costs its body the latency once more.
  ///   - workers: how many requests are answered at a time; nil for any number.
  ///   - port: 0 for any that is free.
  package init(
    catalogue: DemoCatalogue = .standard, latency: Duration = .milliseconds(40),
    bytesPerSecondPerConnection: Int? = 4_000_000, loss: Double = 0, workers: Int? = nil, port: UInt16 = 0
  ) {
    self.port = port
    self.catalogue = catalogue
    conduct = DemoServer.Conduct(
      files: Dictionary(catalogue.files.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first }),
      latency: latency,
      schedule: PacingSchedule(bytesPerSecond: bytesPerSecondPerConnection, loss: loss, roundTrip: latency),
      workers: workers)
  }

  /// Listens on 127.0.0.1 until `stop()`.
  /// - Returns: the port, open for connections.
  @discardableResult
  package func start() throws(DemoOriginError) -> UInt16 {
    if let server { return server.port }
    let server = try DemoServer(port: port, conduct)
    queue.async { server.run() }
    self.server = server
    return server.port
  }

  /// Closes every connection, whatever it is doing, and returns when nothing is served.
  package func stop() async {
    guard let server else { return }
    server.stop()
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    if self.server === server { self.server = nil }
  }

  /// Runs `body` with the addresses of the files, and stops the origin however `body` ends.
  package nonisolated func serving<Value: Sendable>(
    _ body: @Sendable (_ addresses: [String]) async throws -> Value
  ) async throws -> Value {
    try await start()
    do {
      let value = try await body(addresses)
      await stop()
      return value
    } catch {
      await stop()
      throw error
    }
  }

  /// Every file's address, in the catalogue's order; none while the origin does not run.
  package var addresses: [String] {
    guard let server else { return [] }
    return catalogue.files.map { "http://127.0.0.1:\(server.port)\($0.path)" }
  }
}

/// Why an origin does not run.
package enum DemoOriginError: Error, Equatable, Sendable {
  /// No socket on the loopback interface could be had; the system's reason.
  case cannotListen(String)
}

/// The files that an origin serves.
package struct DemoCatalogue: Sendable, Equatable {
  package let files: [DemoFile]

  package init(files: [DemoFile]) { self.files = files }

  /// Length of all files together, in bytes.
  package var totalBytes: Int { files.reduce(0) { $0 + $1.size } }

  /// Three dozen files of mixed size, 7.4 MB: 3.3 s one after the other at 40 ms a request and 4 MB/s a connection. As
  /// none takes more than a quarter of a second and large ones are not last, sixteen at a time need a tenth.
  package static let standard = DemoCatalogue(
    files: entries.enumerated().map { DemoFile(path: $1.path, size: $1.size, seed: UInt64($0 + 1)) })

  /// So many files of one length: `/500x4096/0001.bin` and so on.
  package static func equal(_ count: Int, of size: Int) -> [DemoFile] {
    (1...max(1, count)).map { number in
      let digits = String(number)
      let name = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
      return DemoFile(path: "/\(count)x\(size)/\(name).bin", size: size, seed: UInt64(number))
    }
  }

  private static let entries: [(path: String, size: Int)] = [
    ("/README.md", 6_214), ("/archives/atlas-2.4.1.tar.gz", 612_480), ("/archives/atlas-2.4.1.tar.gz.sha256", 96),
    ("/images/harbour-at-dawn.jpg", 318_905), ("/datasets/stations.csv", 84_377), ("/images/coastline.png", 241_118),
    ("/archives/fonts-serif.zip", 428_032), ("/text/field-notes.txt", 38_540), ("/images/thumb-001.webp", 9_312),
    ("/images/thumb-002.webp", 8_746), ("/datasets/temperatures-2023.csv", 540_219),
    ("/datasets/temperatures-2024.csv", 552_764), ("/images/lighthouse.jpg", 287_451), ("/text/glossary.md", 17_903),
    ("/archives/textures.tgz", 745_312), ("/images/map-north.png", 196_608), ("/images/map-south.png", 204_077),
    ("/datasets/catalogue.json", 131_072), ("/images/logo.svg", 4_096), ("/text/handbook.pdf", 389_120),
    ("/datasets/borders.geojson", 266_845), ("/images/thumb-003.webp", 9_127), ("/archives/plugins.zip", 352_256),
    ("/datasets/sensors.parquet", 471_859), ("/images/night-sky.jpg", 402_313), ("/text/changelog.txt", 22_118),
    ("/images/icon-512.png", 48_640), ("/datasets/wind.parquet", 181_236), ("/images/market.jpg", 173_904),
    ("/archives/icons.tar.gz", 158_720), ("/text/licence.txt", 11_358), ("/datasets/schema.json", 2_731),
    ("/images/garden.jpg", 149_501), ("/text/guide.pdf", 127_344), ("/archives/samples.zip", 142_336),
    ("/images/thumb-004.webp", 8_990),
  ]
}

/// One file of the demonstration origin. Its bytes follow from the seed; nothing is stored.
package struct DemoFile: Sendable, Equatable {
  /// Absolute path as it stands in an address, percent-encoded where needed: `/archives/site.tar.gz`.
  package let path: String
  /// Length in bytes.
  package let size: Int
  package let seed: UInt64

  package init(path: String, size: Int, seed: UInt64) {
    self.path = path
    self.size = size
    self.seed = seed
  }

  /// A strong entity tag with its quotes (RFC 9110 §8.8.3): the bytes follow from seed and length alone.
  package var entityTag: String { "\"\(String(seed, radix: 16))-\(String(size, radix: 16))\"" }

  /// Seconds since 1970: a minute of a day in 2024 for each seed, old enough for a strong date (RFC 9110 §8.8.2.2).
  var lastModified: Int64 { 1_717_236_000 + Int64(seed % 1440) * 60 }

  var content: DemoContent { DemoContent(seed: seed) }
}

/// Pseudo-random bytes. Each follows from the seed and its own offset (SplitMix64 as a counter), so a range costs only
/// its length, nothing is kept, and a copy can be verified.
struct DemoContent: Equatable {
  let seed: UInt64

  /// The bytes of `range`; offsets are not negative.
  func bytes(in range: Range<Int>) -> [UInt8] {
    // Mixed once, so that seeds 1, 2, 3 do not give the same words one step apart.
    let key = SeededGenerator.mix(seed)
    let first = range.lowerBound / 8
    let words = (first..<(range.upperBound + 7) / 8).map {
      SeededGenerator.mix(key &+ UInt64($0) &* SeededGenerator.step).littleEndian
    }
    return words.withUnsafeBytes { Array($0.dropFirst(range.lowerBound - first * 8).prefix(range.count)) }
  }
}
