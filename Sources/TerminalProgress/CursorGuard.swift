import Synchronization

/// Who has the terminal: it is to be given back exactly once, be it by the renderer or by a second signal.
final class CursorGuard: Sendable {
  private enum State: UInt8, AtomicRepresentable { case returned, taken, sealed }
  private let state = Atomic(State.returned)

  /// Before the first bytes of a frame. False once sealed: nothing may be drawn any more.
  func take() -> Bool {
    let (_, now) = state.compareExchange(
      expected: .returned, desired: .taken, ordering: .acquiringAndReleasing)
    return now != .sealed
  }

  /// After the bytes that gave it back.
  func giveBack() {
    _ = state.compareExchange(expected: .taken, desired: .returned, ordering: .acquiringAndReleasing)
  }

  /// For good, from any thread. True if it was taken and the caller has to give it back.
  func seal() -> Bool { state.exchange(.sealed, ordering: .acquiringAndReleasing) == .taken }

  var isSealed: Bool { state.load(ordering: .acquiring) == .sealed }
}
