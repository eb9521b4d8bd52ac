import DownloadModel

/// Progress as JSON lines for programs: an object a line, of type plan, start, progress, retry, wait, done,
/// error or summary.
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
  private var latest: Numbers?
  private var plan: Plan?
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

  init(words: ProgressMessages) { self.words = words }

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

  // MARK: Lines

  private mutating func lines(_ sample: ProgressSample) -> String {
    var text = ""
    let plan = Plan(files: sample.tally.listed, isComplete: sample.tally.listIsComplete)
    if plan != self.plan, plan.isComplete {
      self.plan = plan
      text += line("plan", nil, nil, ["files": .number(Int64(plan.files))])
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
    case .waitsForAnotherProcess(let address):
      return line("wait", ids[address]?.first, address.redacted, ["for": .text("another-process")])
    case .rejected(let rejection):
      return line(
        "error", nil, nil,
        [
          "code": .text("bad-line"), "passing": .flag(false),
          "message": .text(Redaction.redacted(words.rejection(rejection))),
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

  private func summary(_ sample: ProgressSample, _ now: Duration) -> String {
    let tally = sample.tally
    let more: [String: JSONValue] = [
      "unchanged": .number(Int64(tally.unchanged)), "skipped": .number(Int64(tally.skipped)),
      "sameAsHere": .number(Int64(tally.sameAsHere)),
      "withoutContent": .number(Int64(tally.withoutContent)),
      "decoded": .number(Int64(tally.decoded)),
      "copied": .number(Int64(tally.copied)), "cancelled": .number(Int64(tally.cancelled)),
      "failedForGood": .number(Int64(tally.failedForGood)),
      "provenByDigest": .number(Int64(tally.provenByDigest)), "unproven": .number(Int64(tally.unproven)),
      "seconds": .decimal(now.inSeconds),
    ]
    return line("summary", nil, nil, counts(sample).merging(more) { $1 })
  }

  private func counts(_ sample: ProgressSample) -> [String: JSONValue] {
    [
      "files": sample.tally.listIsComplete ? .number(Int64(sample.tally.listed)) : .null,
      "done": .number(Int64(sample.tally.done)), "failed": .number(Int64(sample.tally.failed)),
      "received": .number(sample.received), "size": .number(sample.tally.finishedBytes),
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

/// A value of RFC 8259, as text.
enum JSONValue: Sendable, Equatable {
  case null
  case flag(Bool)
  case number(Int64)
  case decimal(Double)
  case text(String)
  case list([JSONValue])
  case object([String: JSONValue])

  var text: String {
    switch self {
    case .null: "null"
    case .flag(let flag): flag ? "true" : "false"
    case .number(let number): String(number)
    case .decimal(let number): number.isFinite ? "\((number * 1000).rounded() / 1000)" : "null"
    case .text(let text): Self.quoted(text)
    case .list(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let fields):
      "{"
        + fields.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key)):\($0.value.text)" }.joined(
          separator: ",")
        + "}"
    }
  }

  /// RFC 8259 §7: quote, backslash and control characters are escaped, and so is all that a terminal must not
  /// get, since people look at such lines too. The value stays what it is.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\t": quoted += "\\t"
      case let scalar where TerminalText.isHarmful(scalar):
        for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
          let hex = String(unit, radix: 16)
          quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        }
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
