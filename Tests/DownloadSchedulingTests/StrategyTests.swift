import DownloadModel
import DownloadScheduling
import Synchronization
import Testing

@Suite("Every strategy downloads each request once, lazily, within its width, and stops when cancelled")
struct StrategyTests {
  static let widths = [1, 2, 3, 5, 16, 64]

  @Test(arguments: DownloadMode.allCases, widths)
  func eachOnceWithinTheWidth(mode: DownloadMode, width: Int) async throws {
    let recorder = Recorder()
    try await mode.strategy.run(CountingSource(300), width: width) { request in
      await recorder.download(request)
    }
    #expect(recorder.started.sorted() == Array(0..<300))
    #expect(recorder.greatestAtOnce <= (mode == .sequential ? 1 : width))
    #expect(recorder.running == 0)
  }

  @Test(arguments: DownloadMode.allCases)
  func anEmptyListEnds(mode: DownloadMode) async throws {
    let recorder = Recorder()
    try await mode.strategy.run(CountingSource(0), width: 8) { request in
      await recorder.download(request)
    }
    #expect(recorder.started.isEmpty)
  }

  @Test func sequentialKeepsTheOrder() async throws {
    let recorder = Recorder()
    try await SequentialStrategy().run(CountingSource(50), width: 16) { request in
      await recorder.download(request)
    }
    #expect(recorder.started == Array(0..<50))
    #expect(recorder.greatestAtOnce == 1)
  }

  /// With all places taken nothing more is drawn: the list may be endless, and its reader waits.
  @Test(arguments: [DownloadMode.asyncLet, .parallel], widths)
  func theWidthIsUsedWholeAndTheListDrawnNoFurther(mode: DownloadMode, width: Int) async throws {
    let recorder = Recorder(holds: true)
    let source = try CountingSource(1000)
    let run = Task {
      await mode.strategy.run(source, width: width) { request in
        await recorder.download(request)
      }
    }
    await recorder.wait(forStarted: width)
    #expect(recorder.running == width)
    #expect(source.drawn == width)
    recorder.release()
    await recorder.wait(forStarted: width + 1)
    #expect(source.drawn == width + 1)
    recorder.open()
    await run.value
    #expect(recorder.started.sorted() == Array(0..<1000))
    #expect(recorder.greatestAtOnce == width)
  }

  /// A slow file holds up nobody else, in none of the two.
  @Test(arguments: [DownloadMode.asyncLet, .parallel])
  func oneSlowFileHoldsUpNobody(mode: DownloadMode) async throws {
    let recorder = Recorder(holds: true)
    let source = try CountingSource(20)
    let run = Task {
      await mode.strategy.run(source, width: 2) { request in
        await recorder.download(request)
      }
    }
    await recorder.wait(forStarted: 2)
    for started in 3...20 {
      recorder.release(at: 1)
      await recorder.wait(forStarted: started)
    }
    #expect(recorder.running == 2)
    recorder.open()
    await run.value
  }

  @Test(arguments: DownloadMode.allCases)
  func cancellationStopsTheDrawing(mode: DownloadMode) async throws {
    let recorder = Recorder(holds: true)
    let source = try CountingSource(1000)
    let width = mode == .sequential ? 1 : 4
    let run = Task {
      await mode.strategy.run(source, width: 4) { request in
        await recorder.download(request)
      }
    }
    await recorder.wait(forStarted: width)
    run.cancel()
    recorder.open()
    await run.value
    #expect(recorder.started.count == width)
    #expect(source.drawn == width)
  }

  @Test(arguments: DownloadMode.allCases)
  func cancellationReachesTheDownloads(mode: DownloadMode) async throws {
    let recorder = Recorder(holds: true)
    let run = Task { [source = try CountingSource(10)] in
      await mode.strategy.run(source, width: 3) { request in
        await recorder.download(request)
        #expect(Task.isCancelled)
      }
    }
    await recorder.wait(forStarted: mode == .sequential ? 1 : 3)
    run.cancel()
    recorder.open()
    await run.value
  }
}
