import ArgumentParser
import DownloadModel

/// `I/N`, several as `A-B/N`, or `auto`: the value from the engine of a job array; `auto/N` if it does not give the
/// number of jobs.
enum ShardArgument: ExpressibleByArgument, Equatable, CustomStringConvertible {
  case these(ClosedRange<Int>, of: Int)
  case array(of: Int?)

  /// Far beyond any engine's number; calculations with it stay far below an integer's end.
  private static let most = 1_000_000_000

  init?(argument: String) {
    let (shards, total) = argument.halves(at: "/")
    let count = total.map { Int($0) ?? 0 }
    guard (1...Self.most).contains(count ?? 1) else { return nil }
    if shards == "auto" {
      self = .array(of: count)
      return
    }
    let ends = shards.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
    guard let count, let first = ends.first, let last = ends.last, ends.count <= 2, first >= 1, first <= last,
      last <= count
    else { return nil }
    self = .these(first...last, of: count)
  }

  var description: String {
    switch self {
    case .these(let numbers, let count) where numbers.count == 1: "\(numbers.lowerBound)/\(count)"
    case .these(let numbers, let count): "\(numbers.lowerBound)-\(numbers.upperBound)/\(count)"
    case .array(let count): count.map { "auto/\($0)" } ?? "auto"
    }
  }

  /// The variables of a job array engine: a job's number, the first number (or its constant value), the step between
  /// two, and the last number or the count.
  private struct Engine {
    let number: String
    var first = "1"
    var step = "1"
    var last: String?
    var count: String?

    static let all = [
      Engine(
        number: "SLURM_ARRAY_TASK_ID", first: "SLURM_ARRAY_TASK_MIN", step: "SLURM_ARRAY_TASK_STEP",
        count: "SLURM_ARRAY_TASK_COUNT"),
      Engine(number: "JOB_COMPLETION_INDEX", first: "0"),
      Engine(number: "AWS_BATCH_JOB_ARRAY_INDEX", first: "0", count: "AWS_BATCH_JOB_ARRAY_SIZE"),
      Engine(number: "SGE_TASK_ID", first: "SGE_TASK_FIRST", step: "SGE_TASK_STEPSIZE", last: "SGE_TASK_LAST"),
      Engine(number: "PBS_ARRAY_INDEX"), Engine(number: "PBS_ARRAYID"),
    ]
  }

  /// - Throws: `ValidationError` if the share is unknown.
  func shard(by unit: Shard.Unit, _ environment: [String: String]) throws -> Shard {
    let given: Int?
    switch self {
    case .these(let numbers, let count): return Shard(numbers: numbers, count: count, unit: unit)
    case .array(let count): given = count
    }
    // Bounded, because calculations follow.
    func value(_ name: String?) -> Int? {
      name.flatMap { Int(environment[$0] ?? $0) }.map { min(max($0, -Self.most), Self.most) }
    }
    let engines = Engine.all.filter { value($0.number) != nil }
    guard let engine = engines.first, engines.count == 1 else {
      let why =
        engines.isEmpty
        ? "no engine of a job array says which this is (SLURM_ARRAY_TASK_ID and the like are not set)"
        : "\(engines.map(\.number).joined(separator: " and ")) are both set"
      throw ValidationError("--shard auto: \(why); say it as --shard 3/20.")
    }
    let number = value(engine.number) ?? 0
    let first = value(engine.first) ?? 1
    let step = max(1, value(engine.step) ?? 1)
    guard let count = given ?? value(engine.count) ?? value(engine.last).map({ ($0 - first) / step + 1 }) else {
      throw ValidationError(
        "--shard auto: \(engine.number) does not say how many jobs there are: give that as --shard auto/20.")
    }
    let place = (number - first) / step + 1
    guard number >= first, (number - first) % step == 0, place <= count else {
      throw ValidationError(
        "--shard auto: \(engine.number)=\(number) is not one of \(count) jobs in equal steps; name the share, such as "
          + "--shard 3/20.")
    }
    return Shard(numbers: place...place, count: count, unit: unit)
  }
}
