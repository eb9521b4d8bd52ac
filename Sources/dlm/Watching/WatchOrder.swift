import ArgumentParser
import Glibc
import SystemPackage

struct WatchOrder {
  /// `--refresh-every`
  let every: Duration?

  /// - Parameter isAsked: whether `--watch` is on the command line; a setting alone applies only if there is a list to
  ///   watch.
  /// - Returns: `nil` for a run that does not watch.
  init?(isAsked: Bool, every: TimeSpan?, _ settings: Settings, _ sources: [Source]) throws {
    guard settings.own.watch else {
      if every == nil { return nil }
      throw ValidationError("--refresh-every needs --watch: give that too, or leave it out.")
    }
    let span = settings.own.refreshEvery
    if span?.seconds == 0 {
      throw ValidationError("--refresh-every needs a time between two rounds, such as 30s, 10m or 6h.")
    }
    if let why = Self.refusal(sources, settings, refreshes: span != nil) {
      if isAsked || every != nil { throw ValidationError(why) }
      return nil
    }
    self.every = span.map { .seconds($0.seconds) }
  }

  private static func refusal(_ sources: [Source], _ settings: Settings, refreshes: Bool) -> String? {
    if settings.output.isStandardOutput {
      return "--output - writes a file once, and --watch again and again: use one of the two."
    }
    for source in sources {
      switch source {
      case .standardInput:
        return "--watch needs a list that can change, and standard input is read once: name a list file."
      case .listAt where !refreshes:
        return "--watch cannot see the list at \(source.name) change: say how often to ask for it, --refresh-every 10m."
      case .list(let path):
        guard let type = FilePath(path).fileType, type != S_IFREG else { continue }
        return "--watch needs a list that can change, and \(path) is not a regular file: name a list file."
      case .address, .listAt: break
      }
    }
    if sources.allSatisfy(\.isAddress), !refreshes {
      return "--watch needs a list to watch, and a URL has none: name a list file, or ask again about the URL "
        + "with --refresh-every 10m."
    }
    if !refreshes || !settings.own.noCache { return nil }
    return "--refresh-every asks about what the cache knows, and --no-cache does without it: use one of the two."
  }
}
