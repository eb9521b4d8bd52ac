import DequeModule
import DownloadModel
import Synchronization

extension HostQueue {
  /// How a request that was given out is to be asked.
  enum Advice {
    /// - Parameter waited: how long it was left unanswered before; nil for a request like others.
    case ask(waited: Duration?)
    /// Not at all: its host was given up.
    case fail(DownloadError)
  }

  /// To be asked once.
  func advice(on request: DownloadRequest) -> Advice {
    state.withLock { state in
      if !state.verdicts.isEmpty, let error = state.verdicts.removeValue(forKey: request.id) {
        return .fail(error)
      }
      return .ask(waited: state.overtaken.isEmpty ? nil : state.overtaken[request.id])
    }
  }

  /// A download ended, well or badly, and does not come again.
  /// - Parameter wasAsked: whether its host had a say.
  func ended(_ request: DownloadRequest, wasAsked: Bool, broke: Bool = false, share: Int = 0) {
    let name = request.address.hostAndPort
    change { state in
      pace(&state, broke: broke)
      if !state.refusals.isEmpty { state.refusals[request.id] = nil }
      if !state.overtaken.isEmpty { state.overtaken[request.id] = nil }
      // A host is not forgotten while anything is under way.
      guard let host = state.hosts[name] else { return }
      end(share, host, &state)
      if wasAsked {
        host.pace.end()
        tell(host)
      } else {
        host.pace.drop()
      }
      // Memory does not grow with the number of hosts.
      if state.hosts.count > Self.hosts, host.pace.isPristine, host.doomed.isEmpty, !host.isWaitedFor {
        state.hosts[name] = nil
      }
    }
  }

  /// Takes a request back that its host refused.
  /// - Returns: nil if it is not taken back, because it has been refused too often or the host is given up. Then its
  ///   download has ended.
  func takeBack(_ request: DownloadRequest, after error: DownloadError, share: Int = 0) -> NextAttempt? {
    let name = request.address.hostAndPort
    let (now, random) = (elapsed(), random())
    return change { state in
      guard let host = state.hosts[name] else { return nil }
      end(share, host, &state)
      if let overtaken = error.overtaken {
        _ = host.pace.refuse(error, at: now, retry, random: random)
        tell(host, answering: overtaken.answering)
        return ask(request, after: overtaken, host, &state)
      }
      let count = state.refusals.removeValue(forKey: request.id).map { $0 + 1 } ?? 1
      // Without retries each is asked once, whatever the others met.
      if retry.retries == 0 {
        host.pace.drop()
        return nil
      }
      let refusal = host.pace.refuse(error, at: now, retry, random: random)
      defer { tell(host) }
      guard case .again(let time) = refusal else {
        if host.pace.inUse == 0 {
          state.failures[name] = error
          host.doomed += host.reserved.map(\.request) + host.held + host.refused
          (host.reserved, host.held, host.refused) = ([], [], [])
          host.pace.giveUp(retry)
        }
        return nil
      }
      let most = max(Self.refusalsOfOneFile, retry.retries)
      guard count <= most else { return nil }
      state.refusals[request.id] = count
      host.refused.append(request)
      state.heldCount += 1
      // Whichever comes to its end first: the host's row of refusals, or while it serves others the file's own.
      let row = host.pace.refusals
      return NextAttempt(
        attempt: count + 1, retry: row > 0 ? row : count, of: row > 0 ? retry.retries : most,
        delay: max(.zero, time - now))
    }
  }

  /// A request that was left unanswered is asked again before others, and for the first time still.
  private func ask(
    _ request: DownloadRequest, after overtaken: DownloadError.Overtaken, _ host: Host, _ state: inout State
  ) -> NextAttempt {
    state.overtaken[request.id] = overtaken.waited
    if overtaken.answering == nil, widths.indices.contains(overtaken.loop) {
      let ends = host.ends[overtaken.loop] + (overtaken.isIdle ? 0 : 1)
      host.reserved.append(Host.Reserved(share: overtaken.loop, ends: ends, request: request))
    } else {
      host.held.prepend(request)
    }
    state.heldCount += 1
    return NextAttempt(attempt: 1, retry: 0, of: nil, delay: .zero)
  }

  /// Takes a request back that was never made: it comes again when the host has room.
  func putBack(_ request: DownloadRequest, share: Int = 0) {
    change { state in
      let host = host(of: request, &state)
      end(share, host, &state)
      host.pace.drop()
      host.refused.append(request)
      state.heldCount += 1
    }
  }

  /// Takes a request back for which this machine had no room: too many files are open (`DownloadError.Code.resources`).
  /// From then on no more go at a time than did without it, whatever `--jobs` says; its host has no part in it.
  /// - Returns: nil if there is nothing whose end could make room, also after some waiting. Then its download has ended.
  func takeBackForRoom(_ request: DownloadRequest, share: Int = 0) -> NextAttempt? {
    let now = elapsed()
    return change { state in
      guard let host = state.hosts[request.address.hostAndPort] else { return nil }
      end(share, host, &state)
      host.pace.drop()
      let count = (state.refusals.removeValue(forKey: request.id) ?? 0) + 1
      // The room shrinks each time that others are under way, so that this ends; alone it is tried as often as any failure.
      let isAlone = state.isIdle
      guard !isAlone || count <= retry.retries else { return nil }
      state.room = min(state.room, max(1, state.total))
      if isAlone { host.pace.leaveAlone(until: now + Self.roomPause) }
      state.refusals[request.id] = count
      host.refused.append(request)
      state.heldCount += 1
      return NextAttempt(
        attempt: count + 1, retry: count, of: isAlone ? retry.retries : nil,
        delay: isAlone ? Self.roomPause : .zero)
    }
  }

  /// Longer than the transport keeps idle connections then.
  private static let roomPause = Duration.seconds(2.2)

  /// Learns from a file that ended how many at a time are good.
  private func pace(_ state: inout State, broke: Bool) {
    guard state.jobs != nil else { return }
    if broke {
      state.jobs?.failed(at: elapsed())
    } else {
      state.ended += 1
      let (ended, isFull) = (state.ended, state.isFull)
      state.jobs?.ended(files: ended, isFull: isFull, now: elapsed, received: received)
    }
  }
}
