import ArgumentParser
import DownloadCaching
import DownloadModel
import Glibc

/// What `--watch` asks for.
struct WatchOrder: Sendable {
  /// `--refresh-every`; nil to ask about nothing again.
  let every: Duration?

  /// - Parameters:
  ///   - isAsked: whether `--watch` stands on the command line, and not in the settings: those are for runs
  ///     with something to watch, and others go their usual way.
  ///   - every: what is given on the command line.
  /// - Returns: nil for a run that does not watch.
  /// - Throws: `ValidationError`.
  init?(isAsked: Bool, every: TimeSpan?, _ settings: Settings, _ sources: [Source]) throws {
    guard settings.watches else {
      if every != nil { throw ValidationError(UsageMessages.refreshWithoutWatch) }
      return nil
    }
    let span = settings.refreshEvery
    if span?.seconds == 0 { throw ValidationError(UsageMessages.refreshAllTheTime) }
    do throws(Refusal) {
      try Self.check(sources, refreshes: span != nil)
      if span != nil, !settings.output.usesCache { throw Refusal(UsageMessages.refreshWithoutCache) }
    } catch {
      if isAsked || every != nil { throw ValidationError(error.message) }
      return nil
    }
    self.every = span.map { .seconds($0.seconds) }
  }

  private struct Refusal: Error {
    let message: String
    init(_ message: String) { self.message = message }
  }

  private static func check(_ sources: [Source], refreshes: Bool) throws(Refusal) {
    for source in sources {
      switch source {
      case .standardInput: throw Refusal(UsageMessages.watchingInput)
      case .listAt where !refreshes: throw Refusal(UsageMessages.watchingAddress(source.name))
      case .list(let path):
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
          throw Refusal(UsageMessages.watchingNoFile(path))
        }
      case .address, .listAt: break
      }
    }
    if sources.allSatisfy(\.isAddress), !refreshes { throw Refusal(UsageMessages.watchingNothing) }
  }
}

extension WatchedLines {
  /// The lines of a run, numbered by the names that its cache knows of.
  convenience init(_ sources: [Source], _ names: NameNumbers, _ feed: ProgressFeed) {
    self.init(lists: sources.map(\.name), feed: feed) { request in
      var request = request
      let place = names.next(request.address, from: request.provenance)
      (request.nameNumber, request.isRepeat) = (place.number, place.isRepeat)
      return request
    }
  }
}
