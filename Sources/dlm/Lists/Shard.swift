import ArgumentParser
import DownloadModel
import Synchronization
import TerminalProgress

/// A share of a list, for one of several independent processes. A URL's shard is a function of the URL, the number of
/// shards and the hosts that are split by line, so equal URLs are in one.
struct Shard: Equatable {
  /// The unit that is kept together (`--shard-by`).
  enum Unit: String, Choice, Decodable { case line, host }

  /// Number of the sharding function: under one number, no URL ever changes its shard.
  var function: Int { byLine?.isEmpty == false ? 2 : 1 }

  /// From 1; usually one number.
  let numbers: ClosedRange<Int>
  let count: Int
  var unit = Unit.line
  /// Hosts that would make one shard too long, so that their lines go to all; `nil` if not searched.
  var byLine: Set<String>?

  func takes(_ address: Address) -> Bool {
    if unit == .line { return takes(address.resource) }
    let host = address.hostAndPort
    return takes(byLine?.contains(host) == true ? address.resource : host)
  }

  /// Also for a line that is not a URL, so that only one process reports it.
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

  /// This process's connection limits for the hosts that are split by line, whose total for all processes is limited.
  func ceilings(of most: Int) -> [String: Int] {
    (byLine ?? []).reduce(into: [:]) { $0[$1] = max(1, Int(Double(most) * Double(numbers.count) / Double(count))) }
  }

  /// A suggestion if a host that stays together has made a share at least twice as long as it should be.
  /// - Parameters:
  ///   - taken: lines of this process's share.
  ///   - lines: of the whole list.
  func remedy(taken: Int, of lines: Int) -> String? {
    guard unit == .host, taken > 0, taken * count >= 2 * lines * numbers.count else { return nil }
    let why = byLine == nil ? " where the list can be read only once" : ""
    return "this shard has \(taken) of \(Quantity.files(lines)), as a host stays in one\(why); in every run --shard-by "
      + "line --per-host \(max(1, Settings.mostPerHost / count)) shares it out"
  }

  /// FNV-1a, mixed by the finalizer of MurmurHash3 (because its last bytes would hardly reach the upper bits), scaled.
  static func number(of text: String, among count: Int) -> Int {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
    hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
    return Int((hash ^ hash >> 33).multipliedFullWidth(by: UInt64(count)).high) + 1
  }

  /// Lines of each host of a list, in bounded memory: Misra and Gries' counts. With more hosts than the bound, each
  /// count is too low by less than an eighth of the limit of `tooMany` (up to 65,536 shards); equal lists give equal
  /// counts.
  struct HostCounts {
    let shards: Int
    var lines = 0
    var counts: [String: Int] = [:]

    mutating func add(_ host: String?) {
      lines += 1
      if let host { counts[host, default: 0] += 1 }
      if counts.count > 4 * max(4, min(shards, 1 << 16)) { counts = counts.compactMapValues { $0 > 1 ? $0 - 1 : nil } }
    }

    /// Hosts with more than one line, and with more than twice a shard's lines; with two or three shards, more than
    /// half of all.
    var tooMany: Set<String> { Set(counts.filter { $0.value > max(1, 2 * lines / max(4, shards)) }.keys) }
  }
}

extension ListForm {
  /// Finds hosts that must be split by line, if the list can be read twice. Returns messages about them.
  mutating func findHostsByLine(in sources: [Source]) async -> [String] {
    guard let shard, shard.unit == .host, shard.count > 1, !sources.contains(where: { $0.isReadOnce || $0.isListAt })
    else { return [] }
    let counts = Lock(Shard.HostCounts(shards: shard.count))
    var form = self
    form.onLine = { address in counts.withLock { $0.add(address?.hostAndPort) } }
    _ = await ListReader(sources, RequestMarks(form: form)).next()
    let hosts = counts.withLock { $0.tooMany }
    self.shard?.byLine = hosts
    return hosts.sorted().prefix(3).map { "dlm: \($0) would make one shard too long, and is shared out by line" }
  }
}
