import DownloadModel
import Testing

@testable import DownloadCaching

@Suite("Who waits for shared work, and who ends it")
struct SharedDownloadTests {
  private static let outcome = DownloadOutcome(kind: .fetched, path: "x", size: 1)

  @Test func anAnswerBeforeTheWaitIsNotLost() async throws {
    let shared = SharedDownload()
    let ticket = try #require(shared.join())
    shared.settle(.success(Self.outcome))
    #expect(try await shared.value(ticket) == Self.outcome)
  }

  @Test func cancelledBeforeItWaits() async throws {
    let shared = SharedDownload()
    let ticket = try #require(shared.join())
    // Unstructured, to be cancelled before it begins.
    let task = Task { () -> Result<DownloadOutcome, DownloadError> in
      while !Task.isCancelled { await Task.yield() }
      do throws(DownloadError) { return .success(try await shared.value(ticket)) } catch {
        return .failure(error)
      }
    }
    task.cancel()
    #expect(await task.value == .failure(.cancelled))
    #expect(shared.join() == nil)
  }

  /// The last asker left before the work's task was named: it is cancelled as soon as it is.
  @Test func workThatBeganTooLateIsCancelled() async throws {
    let shared = SharedDownload()
    let ticket = try #require(shared.join())
    let asker = Task { () -> Bool in
      while !Task.isCancelled { await Task.yield() }
      return (try? await shared.value(ticket)) == nil
    }
    asker.cancel()
    #expect(await asker.value)
    let work = Task { while !Task.isCancelled { await Task.yield() } }
    shared.began(work)
    await shared.end()
    #expect(work.isCancelled)
  }

  @Test func allAreAnswered() async throws {
    let shared = SharedDownload()
    let tickets = try (0..<5).map { _ in try #require(shared.join()) }
    let outcomes = try await withThrowingTaskGroup(of: DownloadOutcome.self) { group in
      for ticket in tickets { group.addTask { try await shared.value(ticket) } }
      shared.settle(.success(Self.outcome))
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes == Array(repeating: Self.outcome, count: 5))
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
