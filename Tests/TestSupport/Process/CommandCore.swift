import Foundation
import Glibc

/// What the threads of one command share: they read both streams, so that a full pipe never blocks the command,
/// feed its input, and wait for its end.
final class CommandCore: Sendable {
  struct State {
    var output: [UInt8] = []
    var errors: [UInt8] = []
    /// Output streams that have not ended.
    var openStreams = 2
    /// Set when the process is reaped: from then on its id may belong to another.
    var ending: CommandResult.Ending?
    var input: [[UInt8]] = []
    var inputEnds = false

    var result: CommandResult? {
      guard let ending, openStreams == 0 else { return nil }
      return CommandResult(ending: ending, output: output, errors: errors)
    }
  }

  let monitor = Monitor(State())
  let processID: pid_t

  init(processID: pid_t) { self.processID = processID }

  func startThreads(_ pipes: CommandPipes) {
    Thread.detachNewThread { self.read(pipes.outputRead, into: \.output) }
    Thread.detachNewThread { self.read(pipes.errorsRead, into: \.errors) }
    Thread.detachNewThread { self.feed(pipes.inputWrite) }
    Thread.detachNewThread { self.reap() }
  }

  /// - Returns: false when the process has ended.
  func send(_ signal: Int32) -> Bool {
    monitor.withState { $0.ending == nil && kill(processID, signal) == 0 }
  }

  private func read(_ descriptor: Int32, into stream: any WritableKeyPath<State, [UInt8]> & Sendable) {
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      let slice = Array(piece[..<count])
      monitor.withState { $0[keyPath: stream] += slice }
    }
    close(descriptor)
    monitor.withState { $0.openStreams -= 1 }
  }

  private func feed(_ descriptor: Int32) {
    // A command that does not read to the end must not kill the test: this thread gets EPIPE instead.
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, nil)
    while let bytes = nextInput(), write(bytes, to: descriptor) {}
    close(descriptor)
  }

  private func nextInput() -> [UInt8]? {
    _ = monitor.block { !$0.input.isEmpty || $0.inputEnds || $0.ending != nil }
    return monitor.withState { $0.input.isEmpty ? nil : $0.input.removeFirst() }
  }

  private func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private func reap() {
    // WNOWAIT leaves the id taken, so that the reaping itself can be done under the lock that `send` takes.
    var info = siginfo_t()
    while waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    monitor.withState { state in
      var status: Int32 = 0
      _ = waitpid(processID, &status, 0)
      // WIFEXITED and its kin are macros, which Swift does not import.
      let signal = status & 0x7f
      state.ending = signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal)
    }
  }
}
