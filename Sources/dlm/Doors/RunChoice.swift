import ArgumentParser
import RunDoors

/// Which run a command means: the named one, this folder's, or the only one.
enum RunChoice {
  /// - Parameter number: as typed; `nil` without one.
  /// - Throws: `ValidationError` that lists the runs.
  static func living(_ number: Int?, _ all: [RunStatus] = RunStatus.all()) throws -> RunStatus {
    let alive = all.filter(\.found.isAlive)
    if let number {
      if let run = alive.first(where: { $0.found.record.number == number }) { return run }
      throw ValidationError("run \(number) \(ended(number, all)). " + text(alive))
    }
    let near = alive.filter(isHere)
    if near.count == 1 { return near[0] }
    if alive.count == 1 { return alive[0] }
    throw ValidationError(text(alive))
  }

  private static func isHere(_ run: RunStatus) -> Bool {
    let here = RunMemory.canonical(".")
    return run.found.record.directory == here || run.found.record.startedIn == here
  }

  /// The living run that `dlm resume` may mean: the named one, the only paused one, or one of this folder.
  static func waiting(_ number: Int?, _ all: [RunStatus]) throws -> RunStatus? {
    let alive = all.filter(\.found.isAlive)
    if let number { return alive.first { $0.found.record.number == number } }
    let near = alive.filter(isHere)
    let paused = (near.isEmpty ? alive : near).filter { $0.state == .paused }
    if paused.count > 1 { throw ValidationError(text(paused)) }
    return paused.first ?? near.first
  }

  private static func ended(_ number: Int, _ all: [RunStatus]) -> String {
    guard let run = all.first(where: { $0.found.record.number == number }) else { return "is not known" }
    return run.state == .died ? "was killed: dlm resume \(number) goes on with it" : "has ended"
  }

  /// A run that can go on: it was stopped or killed, or has failed.
  static func ended(_ number: Int?, _ all: [RunStatus]) throws -> RunStatus {
    let open = all.filter { !$0.found.isAlive && $0.state != .done && $0.found.record.end?.isHandedOver != true }
    if let number {
      if let run = open.first(where: { $0.found.record.number == number }) { return run }
      throw ValidationError("run \(number) cannot go on: it is not known, or is done")
    }
    if let run = open.last(where: isHere) ?? (open.count == 1 ? open[0] : nil) { return run }
    throw ValidationError(
      open.isEmpty ? "no run is left to resume" : "name one of these runs:\n" + lines(open))
  }

  private static func text(_ alive: [RunStatus]) -> String {
    alive.isEmpty ? "No download is running" : "Name one of the runs:\n" + lines(alive)
  }

  private static func lines(_ runs: [RunStatus]) -> String {
    RunStatus.lines(runs).map { "  " + $0 }.joined(separator: "\n")
  }
}
