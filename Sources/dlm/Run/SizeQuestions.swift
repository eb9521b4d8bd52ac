import DownloadModel
import DownloadScheduling
import Downloads
import Synchronization
import TerminalProgress

/// Requests the sizes of files by HEAD, over the same queue as downloads: with its limits, pauses and retries.
final class SizeQuestions: DownloadStore {
  /// By the number of the request, which may be opened several times.
  private let all = Lock<[Int: SizeQuestion]>([:])

  /// Fills in unknown sizes of files to download, and marks files that their servers do not have.
  /// - Throws: `Refusal` if no network loop could be started.
  static func complete(
    _ files: inout [DryRun.File], _ requests: [DownloadRequest], _ settings: Settings, _ failures: FailureLog
  ) async throws(Refusal) {
    let unknown = requests.indices.filter {
      files[$0].isToCome && files[$0].size == nil && !requests[$0].isRepeat
    }
    if unknown.isEmpty { return }
    if unknown.count > 100 { settings.say(["dlm: asking for the sizes of \(Quantity.files(unknown.count))"]) }
    var settings = settings
    // A size that is hard to get is not worth the pauses of a download.
    settings.retry.retries = min(1, settings.retry.retries)
    settings.output.directory = TemporaryFolder.path(settings.environment)
    let questions = SizeQuestions()
    let failed = try await questions.ask(unknown.map { requests[$0] }, settings)
    for index in unknown {
      let id = requests[index].id
      files[index].size = questions.all.withLock { $0[id]?.size }
      guard let failure = failed[id] else { continue }
      failures.add(failure)
      if !failure.mayPass { files[index].step = .fail }
    }
  }

  /// - Returns: the failures by the requests' numbers.
  private func ask(_ requests: [DownloadRequest], _ settings: Settings) async throws(Refusal) -> [Int: DownloadError] {
    let failed = Lock<[Int: DownloadError]>([:])
    do {
      let wiring = try await Wiring(
        settings, mode: settings.mode, files: requests.count, cacheFolder: nil,
        claimsFolder: XDGFolders(settings.environment).state, feed: ProgressFeed(), log: nil, store: self)
      _ = await wiring.run(RequestList(requests, count: requests.count)) { request, result in
        if case .failure(let error) = result { failed.withLock { $0[request.id] = error.of(request) } }
      }
      _ = await wiring.loops.close()
    } catch { throw Refusal(error) }
    return failed.withLock { $0 }
  }

  func open(
    _ request: DownloadRequest, meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<SizeQuestion> {
    let question = all.withLock { all in
      let question = all[request.id] ?? SizeQuestion()
      all[request.id] = question
      return question
    }
    question.ask(request)
    return .missing(question)
  }

  func commit(_ question: SizeQuestion) async throws(DownloadError) -> DownloadOutcome? {
    DownloadOutcome(kind: .skipped, path: "", size: question.size ?? 0)
  }

  func close(_ question: SizeQuestion, after error: DownloadError, comesAgain: Bool) async -> DownloadOutcome? { nil }
}
