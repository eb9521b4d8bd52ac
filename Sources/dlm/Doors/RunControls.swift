import DownloadModel
import Downloads
import FileReceiving

/// What other processes may do to this run.
struct RunControls: Sendable {
  let wiring: Wiring
  let stop: @Sendable () -> Void
  /// - Returns: `nil` if the run is over.
  let add: @Sendable ([Source], _ folder: String?) async -> Addition?
  /// Tries failed files again: those of these numbers, or all.
  /// - Returns: how many; `nil` if the run is over.
  let retry: @Sendable (Set<Int>?) -> Int?

  /// - Returns: the fields of the answer.
  /// - Throws: why not.
  func carryOut(_ command: DoorCommand) async throws(Refused) -> JSONFields {
    switch command.verb {
    case "pause": wiring.downloads.pause(true)
    case "resume": wiring.downloads.pause(false)
    case "stop": stop()
    case "skip": await wiring.downloads.giveUp(Set(command.files ?? []), as: .skipped)
    case "first": wiring.downloads.prefer(Set(command.files ?? []))
    case "limit": wiring.schedule.change(try limits(command.limits ?? []))
    case "retry":
      guard let count = retry(command.files.map(Set.init)) else { throw Refused("the run is over") }
      return ["files": count]
    case "jobs": return ["jobs": try widen(to: command.jobs ?? 0)]
    case "add": return try await add(command)
    default: throw Refused("unknown command: \(command.verb)")
    }
    return [:]
  }

  struct Refused: Error {
    let why: String
    init(_ why: String) { self.why = why }
  }

  private func limits(_ texts: [String]) throws(Refused) -> [RateLimit] {
    var limits: [RateLimit] = []
    for text in texts {
      guard let limit = RateLimit(argument: text), limit.hours == nil else { throw Refused("not a limit: \(text)") }
      limits.append(limit)
    }
    return limits
  }

  private func widen(to jobs: Int) throws(Refused) -> Int {
    guard jobs > 0, let now = wiring.widen(by: 0), let count = wiring.widen(by: jobs - now) else {
      throw Refused("the run has no number of files at a time")
    }
    return count
  }

  /// Rejected lines that an answer names.
  private static let mostRejected = 20

  private func add(_ command: DoorCommand) async throws(Refused) -> JSONFields {
    let urls = command.urls ?? []
    if let text = urls.first(where: { !Source.isFetchable($0) }) {
      throw Refused("not a URL: \(Redaction.redactedAddress(text))")
    }
    if let folder = command.folder, !FileNaming.isUsablePath(folder) { throw Refused("not a folder: \(folder)") }
    let sources = urls.map { Source.address($0) } + (command.list.map { [.list(path: $0)] } ?? [])
    guard let files = await add(sources, command.folder) else { throw Refused("the run is over") }
    let rejected = Array(files.rejected.prefix(Self.mostRejected))
    return ["added": files.added, "known": files.known, "rejected": rejected]
  }
}
