import CurlTransport
import DownloadModel
import Glibc
import Synchronization
import Testing

/// What a download cache is to dlm: an actor on the loop, which calls the transport from there.
actor Lane {
  private let transport: CurlTransport
  private nonisolated let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ transport: CurlTransport) {
    self.transport = transport
    executor = transport.serialExecutor
  }

  func fetch(_ request: TransferRequest, into sink: any ByteSink) async -> Result<
    TransferReceipt, DownloadError
  > {
    let thread = pthread_self()
    let result: Result<TransferReceipt, DownloadError>
    do throws(DownloadError) { result = .success(try await transport.fetch(request, into: sink)) } catch {
      result = .failure(error)
    }
    preconditionIsolated()
    #expect(pthread_self() == thread, "a transfer begun on the loop is answered on its thread")
    return result
  }

  func start(_ request: TransferRequest, into sink: any ByteSink) async -> Result<
    TransferStage, DownloadError
  > {
    do throws(DownloadError) { return .success(try await transport.run(request, into: sink)) } catch {
      return .failure(error)
    }
  }

  /// Starts it and waits for its end, as a downloader does that may split it meanwhile.
  func startAndWait(
    _ request: TransferRequest, into sink: any ByteSink, whenUnderWay: @Sendable () -> Void = {}
  ) async -> Result<TransferReceipt, DownloadError> {
    do throws(DownloadError) {
      switch try await transport.run(request, into: sink) {
      case .ended(let receipt): return .success(receipt)
      case .underWay(let running):
        whenUnderWay()
        return .success(try await running.receipt())
      }
    } catch { return .failure(error) }
  }

  /// Waits for what another task began.
  func wait(for running: RunningTransfer) async -> Result<TransferReceipt, DownloadError> {
    do throws(DownloadError) { return .success(try await running.receipt()) } catch {
      return .failure(error)
    }
  }
}

/// A task as `Wiring` makes one for each lane.
func task<Value: Sendable>(
  on transport: CurlTransport, _ body: @escaping @Sendable () async -> Value
) -> Task<Value, Never> {
  // Unstructured, to be cancelled from outside.
  Task(executorPreference: transport.taskExecutor) { await body() }
}

func expectCancelled(
  _ result: Result<some Sendable, DownloadError>, sourceLocation: SourceLocation = #_sourceLocation
) {
  guard case .failure(let error) = result else {
    Issue.record("it ended well", sourceLocation: sourceLocation)
    return
  }
  #expect(error.code == .cancelled, sourceLocation: sourceLocation)
}

/// Holds a thread until the test lets it go on.
final class Hold: Sendable {
  private let state = Lock((isReached: false, isReleased: false))

  /// Called on the thread that is to stand still.
  func wait() {
    state.withLock { $0.isReached = true }
    while !state.withLock({ $0.isReleased }) { usleep(200) }
  }

  func release() { state.withLock { $0.isReleased = true } }

  /// Suspends until the thread stands still.
  func isReached() async {
    while !state.withLock({ $0.isReached }) { await Task.yield() }
  }
}
