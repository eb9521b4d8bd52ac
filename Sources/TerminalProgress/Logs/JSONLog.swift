package import DownloadModel

/// Progress as JSON lines for programs; the last line is the summary, also for an interrupted run. Because logs store
/// the lines, a `url` lacks its signature (`Redaction`); `id`, the position in the list from 0, identifies the file.
struct JSONLog: ProgressLog {
  /// Files in flight that a progress line lists.
  private static let named = 16

  private let words: ProgressMessages
  private let heading: RunHeading?
  private var latest: (tally: ProgressTally, received: Int64)?
  /// Files of the last plan line.
  private var planned: Int?
  private var total: RunTotal

  /// - Parameter joins: whether the run began before.
  init(words: ProgressMessages, heading: RunHeading? = nil, joins: Bool = false) {
    self.words = words
    self.heading = heading
    total = RunTotal(joins: joins)
  }

  mutating func draw(_ sample: ProgressSample, at now: Duration) -> [UInt8] {
    var text = lines(sample)
    let sum = total.update(sample, at: now)
    if sample.tally != latest?.tally || sample.received != latest?.received {
      latest = (sample.tally, sample.received)
      text += progress(sample, sum)
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
      text += line("plan", ["files": files], heading?.fields ?? [:])
    }
    for event in sample.events { text += self.line(of: event) }
    return text
  }

  private func line(of event: ProgressEvent) -> String {
    switch event {
    case .began(let request): return line("start", of: request)
    case .retry(let request, let next, let error):
      let fields: JSONFields = [
        "attempt": next.attempt, "delay": next.delay.inSeconds, "retry": next.retry,
        "retries": next.retries,
      ]
      let why = self.fields(error, RetryMessages.text(words.cause(error), next))
      return line("retry", fields, why, of: request)
    case .ended(let request, .success(let outcome)):
      return line(
        "done",
        [
          "path": outcome.path, "size": outcome.size, "how": outcome.kind.rawValue,
          "transferred": outcome.transferred, "resumed": outcome.resumed,
          "proof": outcome.proof?.rawValue, "remark": outcome.remark?.rawValue,
        ], of: request)
    case .ended(let request, .failure(let error)):
      return line("error", fields(error, words.failure(error)), of: request)
    case .restarted(let request, let reason): return line("restart", ["reason": reason.rawValue], of: request)
    case .waitsForAnotherProcess(let request, let process):
      return line("wait", ["for": "another-process", "process": process], of: request)
    case .rejected(let rejection):
      return line("error", fields("bad-line", isTemporary: rejection.mayPass, words.rejection(rejection)))
    case .watch(let news): return self.line(of: news)
    }
  }

  private func line(of news: WatchNews) -> String {
    let fields: JSONFields
    switch news {
    case .removed(let request, let was):
      return line("removed", ["was": was.rawValue], of: request)
    case .changed(let change):
      fields = [
        "what": "changed", "list": change.list, "files": change.files, "started": change.started,
        "removed": change.removed, "restarted": change.restarted, "mended": change.mended,
      ]
    case .missing(let list, let count): fields = ["what": "missing", "list": list, "files": count]
    case .unreadable(let why, let count):
      fields = [
        "what": "unreadable", "list": why.list, "files": count,
        "message": Redaction.redacted(words.rejection(why)),
      ]
    case .asking(let count): fields = ["what": "asking", "files": count]
    case .waiting(let status):
      fields = ["what": "waiting", "files": status.files, "next": status.nextLook?.inSeconds]
    }
    return line("watch", fields)
  }

  private func fields(_ error: DownloadError, _ message: String) -> JSONFields {
    fields(error.code.rawValue, isTemporary: error.mayPass, message)
  }

  private func fields(_ code: String, isTemporary: Bool, _ message: String) -> JSONFields {
    ["code": code, "temporary": isTemporary, "message": Redaction.redacted(message)]
  }

  private func progress(_ sample: ProgressSample, _ sum: TotalLine.Content) -> String {
    let active = sample.active.sorted { $0.id < $1.id }.prefix(Self.named).map { file in
      JSONValue([
        "id": file.id, "url": file.address.redacted, "bytes": file.meter.position,
        "total": file.meter.total,
      ])
    }
    return line(
      "progress", counts(sample), ["active": active, "rate": Int64(sum.rate), "eta": sum.timeLeft?.inSeconds])
  }

  func summary(_ sample: ProgressSample, _ now: Duration, _ more: JSONFields = [:]) -> String {
    line("summary", counts(sample), sample.tally.kinds, ["seconds": now.inSeconds], more)
  }

  /// `received` and `size` cover the files that are done or in flight; bytes received twice or in vain are only in
  /// `transferred`.
  private func counts(_ sample: ProgressSample) -> JSONFields {
    let tally = sample.tally
    var received = tally.finishedBytes
    var size = tally.finishedBytes
    var isSized = tally.listIsComplete && tally.listed <= tally.ended - tally.rejected + sample.active.count
    for file in sample.active {
      let position = file.meter.position
      received += position
      size += max(position, file.meter.total ?? 0)
      if file.meter.total == nil { isSized = false }
    }
    return [
      "files": tally.listIsComplete ? tally.listed : nil, "done": tally.done, "failed": tally.failed,
      "received": received, "size": size, "total_known": isSized, "transferred": sample.received,
    ]
  }

  /// - Parameter fields: of equal names, the last counts.
  private func line(_ type: String, _ fields: JSONFields..., of request: DownloadRequest? = nil) -> String {
    var all: JSONFields = [:]
    for part in fields + [["id": request?.id, "url": request?.address.redacted]] { all.merge(part) { $1 } }
    let head = "{\"v\":1,\"t\":\(words.timestamp().json.text),\"type\":\(type.json.text),"
    return head + JSONValue(all).text.dropFirst() + "\n"
  }
}

extension ProgressTally {
  /// How many files ended in which way.
  fileprivate var kinds: JSONFields {
    [
      "fresh": fresh, "stale": stale, "unchanged": unchanged, "skipped": skipped, "sameAsHere": sameAsHere,
      "empty": withoutContent, "decoded": decoded, "html": pages, "copied": copied, "cancelled": cancelled,
      "failedForGood": failedForGood, "verified": provenByDigest, "unproven": unproven,
    ]
  }
}

extension ProgressMessages {
  /// A run's JSON summary line, with its line end; `more` has additional fields.
  package func summary(
    _ tally: ProgressTally, transferred: Int64, elapsed: Duration, more: JSONFields
  ) -> String {
    let sample = ProgressSample(tally: tally, received: transferred)
    return JSONLog(words: self).summary(sample, elapsed, more)
  }
}
