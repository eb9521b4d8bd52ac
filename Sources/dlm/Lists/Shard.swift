import ArgumentParser
import DownloadModel
import Synchronization
import TerminalProgress

/// A share of a list, for one of several processes that need not know of one another. An address's shard is a function
/// of the address, the number of shards and the hosts that go by line alone, so equal addresses are in one.
struct Shard: Equatable {
  /// What is kept together (`--shard-by`).
  enum Unit: String, Choice, Decodable { case line, host }

  /// Of the function that shares out: under one number, no address ever changes its shard.
  var function: Int { byLine?.isEmpty == false ? 2 : 1 }

  /// From 1; mostly one.
  let numbers: ClosedRange<Int>
  let count: Int
  var unit = Unit.line
  /// Hosts that would make one shard too long, so that their lines go to all; nil if not searched.
  var byLine: Set<String>?

  func takes(_ address: Address) -> Bool {
    if unit == .line { return takes(address.resource) }
    let host = address.hostAndPort
    return takes(byLine?.contains(host) == true ? address.resource : host)
  }

  /// Also a line that is no address, so that one process alone tells of it.
  func takes(_ text: String) -> Bool { numbers.contains(Self.number(of: text, among: count)) }

  func name(of list: String) -> String { "shard \(ShardArgument.these(numbers, of: count)) of \(list)" }

  /// For the report.
  /// - Parameter list: all its lines: each shard's run reads the same.
  func json(of list: inout LinesDigest) -> JSONValue {
    JSONValue([
      "first": numbers.lowerBound, "last": numbers.upperBound, "of": count,
      "by": unit.rawValue, "function": function, "list": list.text(), "lines": list.count,
      "byLine": (byLine ?? []).sorted(),
    ])
  }

  /// Of what one process may use of the hosts that go by line, as all together are to use no more.
  func ceilings(of most: Int) -> [String: Int] {
    (byLine ?? []).reduce(into: [:]) { $0[$1] = max(1, Int(Double(most) * Double(numbers.count) / Double(count))) }
  }

  /// What to do where a host that stays together has made a share twice as long as it should be, or longer.
  /// - Parameters:
  ///   - taken: lines of this process's share.
  ///   - lines: of the whole list.
  func remedy(taken: Int, of lines: Int) -> String? {
    guard unit == .host, taken > 0, taken * count >= 2 * lines * numbers.count else { return nil }
    let why = byLine == nil ? " where the list can be read only once" : ""
    return "this shard has \(taken) of \(Quantity.files(lines)), as a host stays in one\(why); in every run --shard-by "
      + "line --per-host \(max(1, Settings.mostPerHost / count)) shares it out"
  }

  /// FNV-1a, mixed by the finalizer of MurmurHash3 (as its last bytes would hardly reach the upper bits), scaled.
  static func number(of text: String, among count: Int) -> Int {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
    hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
    return Int((hash ^ hash >> 33).multipliedFullWidth(by: UInt64(count)).high) + 1
  }
}

/// Lines of each host of a list, in memory that does not grow with it: Misra and Gries' counts. With more hosts than
/// there is room for, each is too low by less than an eighth of what is too much (up to 65,536 shards); the same for
/// equal lists.
struct HostCounts {
  let shards: Int
  var lines = 0
  var counts: [String: Int] = [:]

  mutating func add(_ host: String?) {
    lines += 1
    if let host { counts[host, default: 0] += 1 }
    if counts.count > 4 * max(4, min(shards, 1 << 16)) { counts = counts.compactMapValues { $0 > 1 ? $0 - 1 : nil } }
  }

  /// Those with more than one line, and than twice a shard's lines; of two or three shards, than half of all.
  var tooMany: Set<String> { Set(counts.filter { $0.value > max(1, 2 * lines / max(4, shards)) }.keys) }
}

extension ListForm {
  /// Looks for hosts that must go by line, if the list can be read twice, and gives what to say of them.
  mutating func findHostsByLine(in sources: [Source]) async -> [String] {
    guard let shard, shard.unit == .host, shard.count > 1, !sources.contains(where: { $0.isReadOnce || $0.isListAt })
    else { return [] }
    let counts = Lock(HostCounts(shards: shard.count))
    var form = self
    form.onLine = { address in counts.withLock { $0.add(address?.hostAndPort) } }
    _ = await ListReader(sources, RequestMarks(form: form)).next()
    let hosts = counts.withLock { $0.tooMany }
    self.shard?.byLine = hosts
    return hosts.sorted().prefix(3).map { "dlm: \($0) would make one shard too long, and is shared out by line" }
  }
}

/// `I/N`, several as `A-B/N`, or `auto`: what the engine of a job array says; `auto/N` where that says not how many.
enum ShardArgument: ExpressibleByArgument, Equatable, CustomStringConvertible {
  case these(ClosedRange<Int>, of: Int)
  case array(of: Int?)

  /// Far beyond any engine's; what is counted with it stays far below an integer's end.
  private static let most = 1_000_000_000

  init?(argument: String) {
    let parts = argument.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let count = parts.dropFirst().first.map { Int($0) ?? 0 }
    guard (1...Self.most).contains(count ?? 1) else { return nil }
    if parts[0] == "auto" {
      self = .array(of: count)
      return
    }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
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

  /// What an engine of job arrays sets: a job's number, the first one (or what that is always), the step between two,
  /// and the last one or their count.
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

  /// - Throws: `ValidationError` where it is not known which share that is.
  func shard(by unit: Shard.Unit, _ environment: [String: String]) throws -> Shard {
    let given: Int?
    switch self {
    case .these(let numbers, let count): return Shard(numbers: numbers, count: count, unit: unit)
    case .array(let count): given = count
    }
    // Bounded, since they are counted with.
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
        "--shard auto: \(engine.number)=\(number) is none of \(count) jobs in equal steps; say which share it is as "
          + "--shard 3/20.")
    }
    return Shard(numbers: place...place, count: count, unit: unit)
  }
}
