import Synchronization

/// A value that a task sets for the one that started it.
final class OnceCell<Value: Sendable>: Sendable {
  private let content = Mutex<Value?>(nil)
  var value: Value? { content.withLock { $0 } }
  func set(_ value: Value) { content.withLock { $0 = value } }
}
