import ArgumentParser
import DownloadModel

/// A URL in the form of the cache: without parts that identify a user.
struct CachedAddress: ExpressibleByArgument, Equatable {
  let key: String

  init?(argument: String) {
    guard let address = try? Address(argument) else { return nil }
    key = address.resource
  }
}
