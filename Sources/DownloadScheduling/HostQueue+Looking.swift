import DequeModule
import DownloadModel

/// Which request is given out next.
extension HostQueue {
  enum Look {
    case give(DownloadRequest)
    /// As many files are under way as may be.
    case tooMany
    /// The source has nothing at once.
    case sourceWaits
    case nothing
  }

  /// Looks for a request whose host takes one, without waiting.
  func look(_ share: Int, _ state: inout State) -> Look {
    if state.isFull { return .tooMany }
    if state.heldCount > 0, let request = takeHeld(share, &state, elapsed()) { return .give(request) }
    while !state.sourceHasEnded, state.heldCount < Self.lookahead {
      guard let request = source.takeAtOnce() else { return .sourceWaits }
      switch admit(request, share, &state) {
      case .begun: return .give(request)
      case .full: continue
      case .anothersTurn: return .nothing
      }
    }
    return .nothing
  }

  /// Of the hosts that take one, that of the earliest request: so the list's order is kept as far as it can be.
  private func takeHeld(_ share: Int, _ state: inout State, _ now: Duration) -> DownloadRequest? {
    var first: (name: String, host: Host, id: Int)?
    for (name, host) in state.hosts {
      guard
        !host.doomed.isEmpty
          || host.isWaitedFor && host.pace.hasRoom(at: now)
            && (reserved(at: host, for: share, state) != nil
              || host.isHeldForAny && isTurn(of: share, at: host, state))
      else { continue }
      let id = host.earliest
      if first.map({ id < $0.id }) ?? true { first = (name, host, id) }
    }
    guard let (name, host, _) = first else { return nil }
    let isDoomed = !host.doomed.isEmpty
    let index = isDoomed ? nil : reserved(at: host, for: share, state)
    guard
      let request = index.map({ host.reserved.remove(at: $0).request })
        ?? host.doomed.popFirst() ?? host.held.popFirst() ?? host.refused.popFirst()
    else { return nil }
    if isDoomed { state.verdicts[request.id] = state.failures[name] }
    state.heldCount -= 1
    begin(share, host, &state)
    return request
  }

  /// One that is to be asked over a connection of this share's, or of one whose lanes have other things to do.
  private func reserved(at host: Host, for share: Int, _ state: State) -> Int? {
    if host.reserved.isEmpty { return nil }
    return host.reserved.firstIndex { one in
      if one.share != share { return state.inFlight[one.share] >= widths[one.share] }
      // With nothing else to be asked no transfer may end any more, and the connections that were answered are idle.
      return host.ends[share] >= one.ends || host.inUse[share] == 0 || !host.isHeldForAny
    }
  }

  private enum Admission {
    case begun
    /// Held back: the host has no room.
    case full
    /// Held back: the host has room, which another share is about to take.
    case anothersTurn
  }

  private func admit(_ request: DownloadRequest, _ share: Int, _ state: inout State) -> Admission {
    let host = host(of: request, &state)
    // Not past those that wait already. The clock is read only where it can matter.
    let isQuiet = host.pace.quietUntil > .zero && elapsed() < host.pace.quietUntil
    let hasRoom = !isQuiet && host.pace.inUse < host.pace.limit
    if host.held.isEmpty, hasRoom, isTurn(of: share, at: host, state) {
      begin(share, host, &state)
      return .begun
    }
    host.held.append(request)
    state.heldCount += 1
    return hasRoom ? .anothersTurn : .full
  }

  func host(of request: DownloadRequest, _ state: inout State) -> Host {
    let name = request.address.hostAndPort
    if let host = state.hosts[name] { return host }
    let host = Host(HostPace(ceiling: ceiling), shares: widths.count, name)
    state.hosts[name] = host
    return host
  }

  private func begin(_ share: Int, _ host: Host, _ state: inout State) {
    state.inFlight[share] += 1
    state.peak = max(state.peak, state.total)
    host.inUse[share] += 1
    host.pace.begin()
  }

  func end(_ share: Int, _ host: Host, _ state: inout State) {
    state.inFlight[share] -= 1
    host.inUse[share] -= 1
    host.ends[share] += 1
  }
}
