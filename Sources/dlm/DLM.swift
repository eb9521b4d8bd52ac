import ArgumentParser
import Configuration
import Crypto
@main struct DLM: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "dlm", version: "0.1")
  func run() async throws { print(SHA256.hash(data: [1, 2, 3] as [UInt8])) }
}
