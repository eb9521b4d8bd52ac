/// What the threads of one origin share. `FaultyOrigin` owns it; the threads keep it alive, never the origin.
final class OriginCore: Sendable {
  private struct Script {
    var answers: [OriginAnswer]
    var used = 0
  }

  private struct State {
    var scripts: [String: Script] = [:]
    var record = OriginRecord()
    var connections: [Int: LoopbackSocket] = [:]
    var isStopping = false
    /// Threads that have not come to their end.
    var threads = 0
  }

  private let monitor = Monitor(State())

  var record: OriginRecord { monitor.withState { $0.record } }

  func route(_ path: String, _ answers: [OriginAnswer]) {
    monitor.withState { $0.scripts[path] = Script(answers: answers) }
  }

  func wait(for what: String, until isMet: @escaping @Sendable (OriginRecord) -> Bool)
    async throws(SupportFailure)
  {
    try await monitor.wait(for: what) { isMet($0.record) }
  }

  // MARK: Threads

  func listens() { monitor.withState { $0.threads += 1 } }

  /// A connection and its thread are counted in one step, so that `stop` sees both or neither.
  /// - Returns: the connection's number; nil when the origin is stopping.
  func opened(_ socket: LoopbackSocket) -> Int? {
    monitor.withState { state in
      if state.isStopping { return nil }
      state.threads += 1
      state.record.connectionsOpened += 1
      state.record.connectionsOpen += 1
      state.connections[state.record.connectionsOpened] = socket
      return state.record.connectionsOpened
    }
  }

  func threadEnds() { monitor.withState { $0.threads -= 1 } }

  /// Wakes every blocked thread and waits for all of them to end.
  func stop(_ listener: LoopbackSocket) {
    monitor.withState { state in
      state.isStopping = true
      for socket in state.connections.values { socket.shutDown() }
      listener.shutDown()
    }
    _ = monitor.block { $0.threads == 0 }
  }

  // MARK: Connections

  /// Before the descriptor is closed: `stop` must not shut down a number that means another file by then.
  func willClose(_ number: Int) { monitor.withState { $0.connections[number] = nil } }

  func closed() { monitor.withState { $0.record.connectionsOpen -= 1 } }

  // MARK: Requests

  func begin(_ request: OriginRequest, on connection: Int) -> OriginAnswer {
    monitor.withState { state in
      state.record.log.append(
        Seen(
          method: request.method, path: request.target, headers: request.headers, connection: connection))
      state.record.inFlight += 1
      state.record.greatestInFlight = max(state.record.greatestInFlight, state.record.inFlight)
      guard let path = request.routes.first(where: { state.scripts[$0] != nil }),
        let script = state.scripts[path],
        let answer = script.answers.dropFirst(script.used).first ?? script.answers.last
      else { return .status(404, body: Array("no such route\n".utf8)) }
      state.scripts[path]?.used += 1
      return answer
    }
  }

  func settled() { monitor.withState { $0.record.inFlight -= 1 } }

  func sent(_ count: Int, of request: OriginRequest) {
    monitor.withState { $0.record.bodyBytesSent[request.target, default: 0] += count }
  }
}
