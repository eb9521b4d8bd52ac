import ArgumentParser
import DownloadCaching
import DownloadModel
import FileReceiving

/// An address as the cache knows it: without what identifies a user.
struct CachedAddress: ExpressibleByArgument, Equatable {
  let key: String

  init?(argument: String) {
    guard let address = try? Address(argument) else { return nil }
    key = address.resource
  }
}
