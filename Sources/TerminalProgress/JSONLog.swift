import DownloadModel

/// Progress as JSON lines for programs: an object a line, of type plan, start, progress, retry, wait, done,
/// error, watch, removed or summary.
///
/// Each has `v` (1), `t` (RFC 3339), `type`, `id` and `url`; what is not known is null. A `url` is without
/// what signs it (`Redaction`), since such output is kept in logs: `id`, the place in the list from 0, says
/// which one it is. The summary is always the last line, also of an interrupted run. Readers must ignore
/// types and fields that they do not know.
struct JSONLog: ProgressDisplay {
  let interval = Duration.milliseconds(100)
  let restoring: [UInt8] = []
  /// Files under way that a progress line names.
  private static let named = 16

  private let words: ProgressMessages
  private let heading: RunHeading?
  private var latest: Numbers?
  private var plan: Plan?
  /// Lines of the list that were none.
  private var rejected: Int
  /// Requests under way, by address: events that end them name the address only.
  private var ids: [Address: [Int]] = [:]

  private struct Numbers: Equatable {
    var tally: ProgressTally
    var received: Int64
  }

  private struct Plan: Equatable {
    var files: Int
    var isComplete: Bool
  }

  init(words: ProgressMessages, rejected: Int = 0, heading: RunHeading? = nil) {
    (self.words, self.rejected, self.heading) = (words, rejected, heading)
  }

  mutating func draw(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] {
    var text = lines(sample)
    let numbers = Numbers(tally: sample.tally, received: sample.received)
    if numbers != latest {
      latest = numbers
      text += progress(sample)
    }
    return Array(text.utf8)
  }

  mutating func end(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] {
    Array((lines(sample) + summary(sample, now)).utf8)
  }

  func suspend() -> [UInt8] { [] }
  func leave() -> [UInt8] { [] }

  // MARK: Lines

  private mutating func lines(_ sample: ProgressSample) -> String {
    var text = ""
    let plan = Plan(files: sample.tally.listed, isComplete: sample.tally.listIsComplete)
    if plan != self.plan, plan.isComplete {
      self.plan = plan
      let files: [String: JSONValue] = ["files": .number(Int64(plan.files))]
      text += line("plan", nil, nil, files.merging(heading?.fields ?? [:]) { $1 })
    }
    for event in sample.events { text += self.line(of: event) }
    return text
  }

  private mutating func line(of event: ProgressEvent) -> String {
    switch event {
    case .began(let request):
      // One that its host refused begins a second time.
      if ids[request.address]?.contains(request.id) != true {
        ids[request.address, default: []].append(request.id)
      }
      return line("start", request.id, request.address.redacted, [:])
    case .retry(let address, let next, let error):
      return line(
        "retry", ids[address]?.first, address.redacted,
        [
          "attempt": .number(Int64(next.attempt)), "delay": .decimal(next.delay.inSeconds),
          "retry": .number(Int64(next.retry)), "retries": next.retries.map { .number(Int64($0)) } ?? .null,
        ].merging(fields(error, RetryMessages.text(words.cause(error), next))) { $1 })
    case .ended(let address, .success(let outcome)):
      return line(
        "done", ended(address), address.redacted,
        [
          "path": .text(outcome.path), "size": .number(outcome.size), "how": .text(outcome.kind.rawValue),
          "transferred": .number(outcome.transferred), "resumed": .number(outcome.resumed),
          "proof": outcome.proof.map { .text($0.rawValue) } ?? .null,
          "remark": outcome.remark.map { .text($0.rawValue) } ?? .null,
        ])
    case .ended(let address, .failure(let error)):
      return line("error", ended(address), address.redacted, fields(error, words.failure(error)))
    case .waitsForAnotherProcess(let address, let process):
      return line(
        "wait", ids[address]?.first, address.redacted,
        ["for": .text("another-process"), "process": process.map { .number(Int64($0)) } ?? .null])
    case .rejected(let rejection):
      rejected += 1
      return line(
        "error", nil, nil,
        [
          "code": .text("bad-line"), "passing": .flag(false),
          "message": .text(Redaction.redacted(words.rejection(rejection))),
        ])
    case .watch(let news): return self.line(of: news)
    }
  }

  private mutating func line(of news: WatchNews) -> String {
    func files(_ count: Int) -> JSONValue { .number(Int64(count)) }
    switch news {
    case .removed(let request, let was):
      ids[request.address]?.removeAll { $0 == request.id }
      return line("removed", request.id, request.address.redacted, ["was": .text(was.rawValue)])
    case .changed(let change):
      rejected -= change.mended
      return line(
        "watch", nil, nil,
        [
          "what": .text("changed"), "list": .text(change.list), "files": files(change.files),
          "started": files(change.started), "removed": files(change.removed),
          "restarted": files(change.restarted), "mended": files(change.mended),
        ])
    case .missing(let list, let count):
      return line("watch", nil, nil, ["what": .text("missing"), "list": .text(list), "files": files(count)])
    case .unreadable(let why, let count):
      return line(
        "watch", nil, nil,
        [
          "what": .text("unreadable"), "list": .text(why.list), "files": files(count),
          "message": .text(Redaction.redacted(words.rejection(why))),
        ])
    case .asking(let count): return line("watch", nil, nil, ["what": .text("asking"), "files": files(count)])
    case .waiting(let status):
      return line(
        "watch", nil, nil,
        [
          "what": .text("waiting"), "files": files(status.files),
          "next": status.nextLook.map { .decimal($0.inSeconds) } ?? .null,
        ])
    }
  }

  private mutating func ended(_ address: Address) -> Int? {
    guard var waiting = ids[address], !waiting.isEmpty else { return nil }
    let id = waiting.removeFirst()
    ids[address] = waiting.isEmpty ? nil : waiting
    return id
  }

  private func fields(_ error: DownloadError, _ message: String) -> [String: JSONValue] {
    [
      "code": .text(error.code.rawValue), "passing": .flag(error.isTransient),
      "message": .text(Redaction.redacted(message)),
    ]
  }

  private func progress(_ sample: ProgressSample) -> String {
    let active = sample.active.sorted { $0.id < $1.id }.prefix(Self.named).map { file in
      JSONValue.object([
        "id": .number(Int64(file.id)), "url": .text(file.address.redacted),
        "bytes": .number(file.meter.position),
        "total": file.meter.total.map { .number($0) } ?? .null,
      ])
    }
    return line("progress", nil, nil, counts(sample).merging(["active": .list(Array(active))]) { $1 })
  }

  func summary(_ sample: ProgressSample, _ now: Duration, _ more: [String: JSONValue] = [:]) -> String {
    let tally = sample.tally
    let fields: [String: JSONValue] = [
      "fresh": .number(Int64(tally.fresh)), "stale": .number(Int64(tally.stale)),
      "unchanged": .number(Int64(tally.unchanged)), "skipped": .number(Int64(tally.skipped)),
      "sameAsHere": .number(Int64(tally.sameAsHere)),
      "withoutContent": .number(Int64(tally.withoutContent)),
      "decoded": .number(Int64(tally.decoded)),
      "copied": .number(Int64(tally.copied)), "cancelled": .number(Int64(tally.cancelled)),
      "failedForGood": .number(Int64(tally.failedForGood)),
      "provenByDigest": .number(Int64(tally.provenByDigest)), "unproven": .number(Int64(tally.unproven)),
      "seconds": .decimal(now.inSeconds),
    ]
    return line("summary", nil, nil, counts(sample).merging(fields) { $1 }.merging(more) { $1 })
  }

  /// `received` and `size` are of the same files, those that are done or under way, so that the one is never
  /// above the other. What came twice, or for nothing, is in `transferred` only.
  private func counts(_ sample: ProgressSample) -> [String: JSONValue] {
    let tally = sample.tally
    var (received, size) = (tally.finishedBytes, tally.finishedBytes)
    var isSized = tally.listIsComplete && tally.listed <= tally.ended - rejected + sample.active.count
    for file in sample.active {
      let position = file.meter.position
      received += position
      size += max(position, file.meter.total ?? 0)
      if file.meter.total == nil { isSized = false }
    }
    return [
      "files": tally.listIsComplete ? .number(Int64(tally.listed)) : .null,
      "done": .number(Int64(tally.done)), "failed": .number(Int64(tally.failed)),
      "received": .number(received), "size": .number(size), "sizeIsWhole": .flag(isSized),
      "transferred": .number(sample.received),
    ]
  }

  private func line(_ type: String, _ id: Int?, _ url: String?, _ fields: [String: JSONValue]) -> String {
    var all = fields
    all["id"] = id.map { .number(Int64($0)) } ?? .null
    all["url"] = url.map { .text($0) } ?? .null
    let head =
      "{\"v\":1,\"t\":\(JSONValue.text(words.timestamp()).text),\"type\":\(JSONValue.text(type).text)"
    return head + all.sorted { $0.key < $1.key }.map { ",\"\($0.key)\":\($0.value.text)" }.joined() + "}\n"
  }
}
