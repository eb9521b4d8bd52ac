import DequeModule
public import DownloadModel
import Synchronization

/// Limits downloads from one host over all lanes; those over the limit wait in order.
///
/// Not an actor: a slot that is free is taken without suspending, so the limit costs a lock a file.
public final class HostLimiter: Sendable {
  private let limit: Int
  private let hosts = Mutex<[String: Host]>([:])

  private struct Host {
    var inUse = 0
    var waiting: Deque<Waiter> = []
    var nextTicket = 0
  }

  private struct Waiter {
    let ticket: Int
    let continuation: CheckedContinuation<Bool, Never>
  }

  /// - Parameter limit: downloads from one host at a time, at least 1.
  public init(limit: Int) { self.limit = max(1, limit) }

  /// Runs `body` in a slot of the host.
  /// - Throws: `.cancelled` when the task is cancelled while it waits, else what `body` throws.
  public nonisolated(nonsending) func withSlot<Value: Sendable>(
    of host: String, _ body: nonisolated(nonsending) () async throws(DownloadError) -> Value
  ) async throws(DownloadError) -> Value {
    guard await acquire(host) else { throw .cancelled }
    defer { release(host) }
    return try await body()
  }

  private nonisolated(nonsending) func acquire(_ host: String) async -> Bool {
    let ticket: Int? = hosts.withLock { hosts in
      if hosts[host, default: Host()].inUse < limit {
        hosts[host, default: Host()].inUse += 1
        return nil
      }
      hosts[host, default: Host()].nextTicket += 1
      return hosts[host, default: Host()].nextTicket
    }
    guard let ticket else { return true }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        enqueue(Waiter(ticket: ticket, continuation: continuation), host)
      }
    } onCancel: {
      leave(host, ticket)
    }
  }

  /// A slot may have come free, or the task been cancelled, since the lock was let go: both are looked at again.
  private func enqueue(_ waiter: Waiter, _ host: String) {
    let answer: Bool? = hosts.withLock { hosts in
      if Task.isCancelled { return false }
      if hosts[host, default: Host()].inUse < limit {
        hosts[host, default: Host()].inUse += 1
        return true
      }
      hosts[host, default: Host()].waiting.append(waiter)
      return nil
    }
    if let answer { waiter.continuation.resume(returning: answer) }
  }

  private func leave(_ host: String, _ ticket: Int) {
    let left = hosts.withLock { hosts -> Waiter? in
      guard let index = hosts[host]?.waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
      return hosts[host]?.waiting.remove(at: index)
    }
    left?.continuation.resume(returning: false)
  }

  private func release(_ host: String) {
    let next = hosts.withLock { hosts -> Waiter? in
      guard var entry = hosts[host] else { return nil }
      defer { hosts[host] = entry.inUse == 0 ? nil : entry }
      if entry.waiting.isEmpty {
        entry.inUse -= 1
        return nil
      }
      return entry.waiting.removeFirst()  // the slot passes on
    }
    next?.continuation.resume(returning: true)
  }
}
