import DownloadModel
import Testing

@testable import DownloadCaching

@Suite("Who waits for shared work, and what they are told")
struct SharedDownloadsTests {
  private static let outcome = DownloadOutcome(kind: .fetched, path: "x", size: 1)
  private let downloads = SharedDownloads()
  private let key: DownloadKey

  init() throws { key = DownloadKey(address: try Address("http://h/x"), requested: nil) }

  private func begins() -> Bool { if case .begun = downloads.begin(key) { true } else { false } }

  @Test func whatHasEndedIsToBeAskedForAnew() async throws {
    #expect(begins())
    #expect(!begins())
    downloads.ended(key, .success(Self.outcome))
    #expect(try await downloads.answer(to: key) == nil)
    #expect(begins())
  }

  @Test func cancelledBeforeItWaits() async throws {
    #expect(begins())
    let (downloads, key) = (downloads, key)
    // Unstructured, to be cancelled before it begins.
    let task = Task { () -> DownloadError? in
      while !Task.isCancelled { await Task.yield() }
      do throws(DownloadError) { _ = try await downloads.answer(to: key) } catch { return error }
      return nil
    }
    task.cancel()
    #expect(await task.value == .cancelled)
    #expect(downloads.waiting(for: key) == 0)
  }

  @Test func allAreAnswered() async throws {
    #expect(begins())
    let outcomes = try await withThrowingTaskGroup(of: DownloadOutcome?.self) { group in
      for _ in 0..<5 { group.addTask { [downloads, key] in try await downloads.answer(to: key) } }
      while downloads.waiting(for: key) < 5 { await Task.yield() }
      downloads.ended(key, .success(Self.outcome))
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes == Array(repeating: Self.outcome, count: 5))
  }

  @Test func noneIsAnsweredWithTheCancellationOfAnother() async throws {
    #expect(begins())
    let answers = try await withThrowingTaskGroup(of: DownloadOutcome?.self) { group in
      for _ in 0..<5 { group.addTask { [downloads, key] in try await downloads.answer(to: key) } }
      while downloads.waiting(for: key) < 5 { await Task.yield() }
      downloads.ended(key, .failure(DownloadError.cancelled.of(key.address)))
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.allSatisfy { $0 == nil })
    #expect(begins())
  }

  /// Found by trial: those who waited for a request that was refused told their host of a refusal each, and it was asked
  /// for less and less.
  @Test func aFailureIsToldAsAnothers() async throws {
    #expect(begins())
    let busy = DownloadError(.status, cause: .http(status: 429), isPassing: true)
    #expect(!busy.isAnothers)
    let errors = await withTaskGroup(of: DownloadError?.self) { group in
      for _ in 0..<3 {
        group.addTask { [downloads, key] in
          do throws(DownloadError) { _ = try await downloads.answer(to: key) } catch { return error }
          return nil
        }
      }
      while downloads.waiting(for: key) < 3 { await Task.yield() }
      downloads.ended(key, .failure(busy))
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(errors == Array(repeating: busy.metByAnother, count: 3))
    #expect(errors.allSatisfy { $0?.isAnothers == true && $0?.isPassing == true })
  }

  @Test func memoryOfFinishedFilesIsBounded() throws {
    var recent = RecentFiles(limit: 10)
    func key(_ number: Int) throws -> DownloadKey {
      DownloadKey(address: try Address("http://h/\(number)"), requested: nil)
    }
    for number in 0..<1000 {
      recent.remember(RecentFiles.Entry(name: "\(number)", size: 0), for: try key(number))
      #expect(recent.count <= 20)
    }
    #expect(recent[try key(999)]?.name == "999")
    #expect(recent[try key(0)] == nil)
    recent.forget(try key(999))
    #expect(recent[try key(999)] == nil)
  }
}
