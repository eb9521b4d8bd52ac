import Synchronization

/// The names under which this process's files are on their way, so that two addresses with one name do not
/// meet in one partial file. Holds names in flight only: memory does not grow with finished files.
final class NameClaims: Sendable {
  private let names = Mutex<Set<String>>([])

  init() {}

  /// The name, until the claim goes out of use; nil if someone has it.
  func take(_ name: String) -> NameClaim? {
    guard names.withLock({ $0.insert(name).inserted }) else { return nil }
    return NameClaim(name: name, owner: self)
  }

  var count: Int { names.withLock { $0.count } }

  func release(_ name: String) {
    names.withLock { _ = $0.remove(name) }
  }
}
