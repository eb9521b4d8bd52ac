import ArgumentParser
import DemoOrigin
import DownloadModel
import Foundation
import TerminalProgress

struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "See the three modes against a built-in server, without network.",
    discussion: """
      Starts a server on loopback that is as far away as another continent (40 ms to the first byte, 4 MB/s a \
      connection) and compares the modes on its three dozen files. Nothing is left behind.
      """)

  @OptionGroup var measuring: MeasuringOptions
  @OptionGroup(title: "Connections") var connection: ConnectionOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func run() async throws {
    let environment = ProcessInfo.processInfo.environment
    let settings = try Settings(
      nil, connection, .parse([]), display, try await .load(environment: environment))
    let origin = DemoOrigin()
    let files = origin.catalogue.files.count
    let bytes = Quantity.bytes(Int64(origin.catalogue.totalBytes))
    StandardError.say(["\(files) files, \(bytes), from a server 40 ms away with 4 MB/s a connection."])
    let status = try await origin.serving { [measuring] addresses in
      let requests = try addresses.enumerated().map { index, text in
        DownloadRequest(id: index, address: try Address(text))
      }
      return await measuring.compare(requests, settings, environment)
    }
    throw ExitCode(status.rawValue)
  }
}
