import ArgumentParser
import DemoOrigin
import DownloadModel
import FoundationEssentials

struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "See the three modes against a built-in server, without network.",
    discussion: """
      Starts a server on loopback that is as far away as another continent (40 ms to the first byte, 4 MB/s \
      a connection) and compares the modes on its three dozen files. Nothing is left behind.
      """)

  @Flag(help: "Only serve, for any downloader to be tried against; the addresses go to standard output.")
  var serve = false

  @Option(help: ArgumentHelp("With --serve: the port.", valueName: "N"))
  var port: UInt16 = 0

  @Option(help: ArgumentHelp("Milliseconds to the first byte of an answer.", valueName: "MS"))
  var latency = 40

  @Option(help: ArgumentHelp("Bytes a second of one connection.", valueName: "rate"))
  var connectionRate: ByteRate?

  @Option(help: ArgumentHelp("Other files than the sample: 500x4K, 1x64M.", valueName: "NxSIZE"))
  var files: [FileSet] = []

  @OptionGroup var measuring: MeasuringOptions
  @OptionGroup(title: "Connections") var connection: ConnectionOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func run() async throws {
    let rate = connectionRate.map { Int($0.bytesPerSecond) } ?? 4_000_000
    let origin = DemoOrigin(
      catalogue: catalogue, latency: .milliseconds(max(0, latency)), bytesPerSecondPerConnection: rate,
      port: port)
    if serve { return try await Self.serve(origin) }
    let environment = ProcessInfo.processInfo.environment
    let settings = try Settings(measuring: connection, display, try await .load(environment: environment))
    StandardError.say([
      ComparisonMessages.demo(
        files: origin.catalogue.files.count, bytes: origin.catalogue.totalBytes, latency: latency, rate: rate)
    ])
    let status = try await origin.serving { [measuring] addresses in
      let requests = try addresses.enumerated().map { index, text in
        DownloadRequest(id: index, address: try Address(text))
      }
      return try await measuring.compare(requests, settings, environment)
    }
    throw ExitCode(status.rawValue)
  }

  private var catalogue: DemoCatalogue {
    files.isEmpty
      ? .standard : DemoCatalogue(files: files.flatMap { DemoCatalogue.equal($0.count, of: $0.size) })
  }

  /// Serves until SIGINT or SIGTERM. The addresses, one a line, are a list for `dlm get`.
  private static func serve(_ origin: DemoOrigin) async throws {
    try await origin.start()
    try StandardOutput.say(await origin.addresses)
    StandardError.say([ComparisonMessages.serving])
    let signals = Signals(.ending) {}
    _ = await signals.first { _ in true }
    await origin.stop()
  }
}

/// `500x4K`: so many files of that length.
struct FileSet: ExpressibleByArgument, Equatable {
  let count: Int
  let size: Int

  init?(argument: String) {
    let parts = argument.lowercased().split(separator: "x")
    guard parts.count == 2, let count = Int(parts[0]), count > 0, count <= 100_000,
      let size = ByteRate(argument: String(parts[1])), size.bytesPerSecond <= 1 << 40
    else { return nil }
    self.count = count
    self.size = Int(size.bytesPerSecond)
  }
}
