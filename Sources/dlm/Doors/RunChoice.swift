import RunDoors

/// Which run a command means: the named one, this folder's, or the only one.
enum RunChoice {
  /// - Parameter number: as typed; `nil` without one.
  /// - Throws: a usage error that lists the runs.
  static func living(_ number: Int?, _ all: [RunStatus] = RunStatus.all()) throws(Refusal) -> RunStatus {
    let alive = all.filter(\.isAlive)
    if let number {
      if let run = alive.first(where: { $0.record.number == number }) { return run }
      throw refusal("run \(number) \(ended(number, all)); ", alive)
    }
    let near = alive.filter(isHere)
    if near.count == 1 { return near[0] }
    if alive.count == 1 { return alive[0] }
    throw refusal("", alive)
  }

  /// A living run, else the named one or the last one of this folder, which may have ended while its number was typed.
  static func attachable(_ number: Int?) throws(Refusal) -> RunStatus {
    let all = RunStatus.all()
    let ended = all.last { run in
      !run.isAlive && (number.map { run.record.number == $0 } ?? isHere(run))
    }
    do { return try living(number, all) } catch {
      guard let ended, number != nil || !all.contains(where: \.isAlive) else { throw error }
      return ended
    }
  }

  private static func isHere(_ run: RunStatus) -> Bool {
    let here = RunMemory.canonical(".")
    return run.record.directory == here || run.record.startedIn == here
  }

  /// The living run that `dlm resume` may mean: the named one, the only paused one, or one of this folder.
  static func waiting(_ number: Int?, _ all: [RunStatus]) throws(Refusal) -> RunStatus? {
    let alive = all.filter(\.isAlive)
    if let number { return alive.first { $0.record.number == number } }
    let near = alive.filter(isHere)
    let paused = (near.isEmpty ? alive : near).filter { $0.state == .paused }
    if paused.count > 1 { throw refusal("", paused) }
    return paused.first ?? near.first
  }

  private static func ended(_ number: Int, _ all: [RunStatus]) -> String {
    guard let run = all.first(where: { $0.record.number == number }) else { return "is not known" }
    return run.state == .died ? "was killed: dlm resume \(number) goes on with it" : "has ended"
  }

  /// A run that can go on: it was stopped or killed, or has failed.
  static func ended(_ number: Int?, _ all: [RunStatus]) throws(Refusal) -> RunStatus {
    let open = all.filter { !$0.isAlive && !$0.record.isFinished }
    if let number {
      if let run = open.first(where: { $0.record.number == number }) { return run }
      let isKnown = all.contains { $0.record.number == number }
      let why = isKnown ? "is done: nothing is left to resume" : "is not known"
      throw Refusal("dlm: run \(number) \(why)", .usage)
    }
    if let run = open.last(where: isHere) ?? (open.count == 1 ? open[0] : nil) { return run }
    throw refusal("", open, none: "no run is left to resume")
  }

  private static func refusal(
    _ start: String, _ runs: [RunStatus], none: String = "no download is running"
  ) -> Refusal {
    Refusal(
      "dlm: \(start)\(runs.isEmpty ? none : "name one of these runs:")", .usage,
      further: RunStatus.lines(runs).map { "  " + $0 })
  }
}
