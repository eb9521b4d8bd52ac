public import DownloadModel

/// Progress as JSON lines for programs; the summary is the last one, also of an interrupted run. As logs keep them, a
/// `url` is without what signs it (`Redaction`): `id`, the place in the list from 0, says which it is.
struct JSONLog: ProgressLog {
  /// Files under way that a progress line names.
  private static let named = 16

  private let words: ProgressMessages
  private let heading: RunHeading?
  private var latest: (tally: ProgressTally, received: Int64)?
  /// Files of the last plan line.
  private var planned: Int?
  /// Requests under way, by address: events that end them name the address only.
  private var ids: [Address: [Int]] = [:]

  init(words: ProgressMessages, heading: RunHeading? = nil) { (self.words, self.heading) = (words, heading) }

  mutating func draw(_ sample: ProgressSample, at now: Duration) -> [UInt8] {
    var text = lines(sample)
    if sample.tally != latest?.tally || sample.received != latest?.received {
      latest = (sample.tally, sample.received)
      text += progress(sample)
    }
    return Array(text.utf8)
  }

  mutating func end(_ sample: ProgressSample, at now: Duration) -> [UInt8] {
    Array((lines(sample) + summary(sample, now)).utf8)
  }

  private mutating func lines(_ sample: ProgressSample) -> String {
    var text = ""
    let files = sample.tally.listed
    if sample.tally.listIsComplete, files != planned {
      planned = files
      text += line("plan", ["files": .of(files)].merging(heading?.fields ?? [:]) { $1 })
    }
    for event in sample.events { text += self.line(of: event) }
    return text
  }

  private mutating func line(of event: ProgressEvent) -> String {
    switch event {
    case .began(let request):
      // One that its host refused begins a second time.
      if ids[request.address]?.contains(request.id) != true { ids[request.address, default: []].append(request.id) }
      return line("start", [:], of: request.address, request.id)
    case .retry(let address, let next, let error):
      let fields: [String: JSONValue] = [
        "attempt": .of(next.attempt), "delay": .of(next.delay.inSeconds), "retry": .of(next.retry),
        "retries": .of(next.retries),
      ]
      let why = self.fields(error, RetryMessages.text(words.cause(error), next))
      return line("retry", fields.merging(why) { $1 }, of: address, ids[address]?.first)
    case .ended(let address, .success(let outcome)):
      return line(
        "done",
        [
          "path": .of(outcome.path), "size": .of(outcome.size), "how": .of(outcome.kind.rawValue),
          "transferred": .of(outcome.transferred), "resumed": .of(outcome.resumed),
          "proof": .of(outcome.proof?.rawValue), "remark": .of(outcome.remark?.rawValue),
        ], of: address, ended(address))
    case .ended(let address, .failure(let error)):
      return line("error", fields(error, words.failure(error)), of: address, ended(address))
    case .waitsForAnotherProcess(let address, let process):
      let fields: [String: JSONValue] = ["for": .text("another-process"), "process": .of(process)]
      return line("wait", fields, of: address, ids[address]?.first)
    case .rejected(let rejection):
      return line("error", fields("bad-line", isPassing: rejection.mayPass, words.rejection(rejection)))
    case .watch(let news): return self.line(of: news)
    }
  }

  private mutating func line(of news: WatchNews) -> String {
    let fields: [String: JSONValue]
    switch news {
    case .removed(let request, let was):
      ids[request.address]?.removeAll { $0 == request.id }
      return line("removed", ["was": .of(was.rawValue)], of: request.address, request.id)
    case .changed(let change):
      fields = [
        "what": .text("changed"), "list": .of(change.list), "files": .of(change.files), "started": .of(change.started),
        "removed": .of(change.removed), "restarted": .of(change.restarted), "mended": .of(change.mended),
      ]
    case .missing(let list, let count): fields = ["what": .text("missing"), "list": .of(list), "files": .of(count)]
    case .unreadable(let why, let count):
      fields = [
        "what": .text("unreadable"), "list": .of(why.list), "files": .of(count),
        "message": .text(Redaction.redacted(words.rejection(why))),
      ]
    case .asking(let count): fields = ["what": .text("asking"), "files": .of(count)]
    case .waiting(let status):
      fields = ["what": .text("waiting"), "files": .of(status.files), "next": .of(status.nextLook?.inSeconds)]
    }
    return line("watch", fields)
  }

  private mutating func ended(_ address: Address) -> Int? {
    guard var waiting = ids[address], !waiting.isEmpty else { return nil }
    let id = waiting.removeFirst()
    ids[address] = waiting.isEmpty ? nil : waiting
    return id
  }

  private func fields(_ error: DownloadError, _ message: String) -> [String: JSONValue] {
    fields(error.code.rawValue, isPassing: error.mayPass, message)
  }

  private func fields(_ code: String, isPassing: Bool, _ message: String) -> [String: JSONValue] {
    ["code": .text(code), "passing": .flag(isPassing), "message": .text(Redaction.redacted(message))]
  }

  private func progress(_ sample: ProgressSample) -> String {
    let active = sample.active.sorted { $0.id < $1.id }.prefix(Self.named).map { file in
      JSONValue.object([
        "id": .of(file.id), "url": .text(file.address.redacted), "bytes": .of(file.meter.position),
        "total": .of(file.meter.total),
      ])
    }
    return line("progress", counts(sample).merging(["active": .list(active)]) { $1 })
  }

  func summary(_ sample: ProgressSample, _ now: Duration, _ more: [String: JSONValue] = [:]) -> String {
    let tally = sample.tally
    var fields = [
      "fresh": tally.fresh, "stale": tally.stale, "unchanged": tally.unchanged, "skipped": tally.skipped,
      "sameAsHere": tally.sameAsHere, "withoutContent": tally.withoutContent, "decoded": tally.decoded,
      "html": tally.pages, "copied": tally.copied, "cancelled": tally.cancelled,
      "failedForGood": tally.failedForGood, "provenByDigest": tally.provenByDigest, "unproven": tally.unproven,
    ].mapValues { JSONValue.of($0) }
    fields["seconds"] = .of(now.inSeconds)
    return line("summary", counts(sample).merging(fields) { $1 }.merging(more) { $1 })
  }

  /// `received` and `size` are of the files done or under way; what came twice or for nothing is in `transferred` only.
  private func counts(_ sample: ProgressSample) -> [String: JSONValue] {
    let tally = sample.tally
    var (received, size) = (tally.finishedBytes, tally.finishedBytes)
    var isSized = tally.listIsComplete && tally.listed <= tally.ended - tally.rejected + sample.active.count
    for file in sample.active {
      let position = file.meter.position
      received += position
      size += max(position, file.meter.total ?? 0)
      if file.meter.total == nil { isSized = false }
    }
    return [
      "files": .of(tally.listIsComplete ? tally.listed : nil), "done": .of(tally.done), "failed": .of(tally.failed),
      "received": .of(received), "size": .of(size), "sizeIsWhole": .flag(isSized), "transferred": .of(sample.received),
    ]
  }

  private func line(_ type: String, _ fields: [String: JSONValue], of address: Address? = nil, _ id: Int? = nil)
    -> String
  {
    let all = fields.merging(["id": .of(id), "url": .of(address?.redacted)]) { $1 }
    let head = "{\"v\":1,\"t\":\(JSONValue.text(words.timestamp()).text),\"type\":\(JSONValue.text(type).text),"
    return head + JSONValue.object(all).text.dropFirst() + "\n"
  }
}

extension ProgressMessages {
  /// A run's JSON summary line, with its end; `more` stands only here.
  public func summary(
    _ tally: ProgressTally, transferred: Int64, elapsed: Duration, more: [String: JSONValue]
  ) -> String {
    let sample = ProgressSample(tally: tally, received: transferred, active: [], events: [])
    return JSONLog(words: self).summary(sample, elapsed, more)
  }
}
