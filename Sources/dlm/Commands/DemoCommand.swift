import ArgumentParser
import DemoOrigin
import DownloadModel
import FileReceiving
import SystemPackage
import TerminalProgress

struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo", abstract: "See the three modes against a built-in server, without a network.",
    discussion: """
      EXAMPLES
        dlm demo
        dlm demo --report demo.html                      and a page with charts
        dlm demo --workers 3 --files 200x20K             a server of three workers
        dlm demo --latency 200 --loss 1 --jobs 1,4,16    a slow line, three widths

      Starts a server on this machine that behaves like one far away (40 ms to the first byte, 4 MB/s per connection), \
      and compares the modes on its three dozen files. Leaves only a report page: the file of --report, or, at a \
      terminal, one in $XDG_STATE_HOME/dlm.
      """)

  @Flag(help: "Only serve, for trying any downloader; prints the URLs.")
  var serve = false

  @Option(help: .value("N", "With --serve: the port; 0 takes a free one.")) var port: UInt16 = 0
  @Option(help: .value("MS", "Milliseconds to the first byte of a response.")) var latency = 40

  @Option(help: .value("rate", "Bytes per second of one connection (default: 4000000)."))
  var connectionRate: ByteRate?

  @Option(help: .value("PERCENT", "Percentage of lost packets.")) var loss = 0.0
  @Option(help: .value("N", "Requests that the server handles at once (default: any number).")) var workers: Int?
  @Option(help: .value("NxSIZE", "Files instead of the sample: 500x4K, 1x64M.")) var files: [FileSet] = []
  @OptionGroup var measuring: MeasuringOptions
  @OptionGroup var shared: RunOptions

  func validate() throws {
    guard (0...50).contains(loss) else { throw ValidationError("--loss takes a percentage, from 0 to 50.") }
    guard workers.map({ $0 >= 1 }) ?? true else { throw ValidationError("--workers must be at least 1.") }
  }

  func run() async throws {
    let rate = connectionRate.map { Int($0.bytesPerSecond) } ?? 4_000_000
    let served = files.isEmpty ? DemoFile.standard : files.flatMap { DemoFile.equal($0.count, of: $0.size) }
    let origin = DemoOrigin(
      files: served, latency: .milliseconds(max(0, latency)), bytesPerSecondPerConnection: rate,
      loss: loss / 100, workers: workers, port: port)
    if serve { return try await Self.serve(origin) }
    var settings = try Settings(measuring: shared, [], .load())
    // A script gets a page only if it requests one.
    if settings.report == nil, StandardOutput.terminal != nil { settings.report = Self.page() }
    let bytes = Quantity.bytes(Int64(served.reduce(0) { $0 + $1.size }))
    StandardError.say([
      "\(served.count) files, \(bytes), from a server \(latency) ms away with "
        + "\(Double(rate / 100_000) / 10) MB/s per connection:",
      "one by one (sequential), in lanes made with async let, and as one task per file in a task group (parallel).",
    ])
    let status = try await origin.serving { [measuring, settings] addresses in
      let requests = try addresses.enumerated().map { index, text in
        DownloadRequest(id: index, address: try Address(text))
      }
      return try await ComparisonSession(requests, of: "dlm demo", settings, measuring).run()
    }
    throw status
  }

  private static func page() -> ReportFile? {
    guard let folder = XDGFolders().state, (try? Folder(own: folder)) != nil,
      let report = try? ReportFile(folder.appending("demo.html").string), report.file.obstacle == nil
    else { return nil }
    return report
  }

  /// Serves until SIGINT or SIGTERM. The URLs, one a line, are a list for `dlm get`.
  private static func serve(_ origin: DemoOrigin) async throws {
    try await origin.start()
    try StandardOutput.say(await origin.addresses)
    StandardError.say("Serving on loopback; stop with Ctrl-C.")
    let signals = Signals(.ending) {}
    _ = await signals.first { _ in true }
    await origin.stop()
  }

  /// `500x4K`: a number of files of that length.
  struct FileSet: ExpressibleByArgument {
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
}
