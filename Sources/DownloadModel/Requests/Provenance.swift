import Synchronization

/// Who named an address: that decides what of the user's is sent there (HTTP rule 42), and whether its file may be
/// hidden (HTTP rule 45).
package enum Provenance: String, Sendable, Comparable {
  /// The user: on the command line, or in a list of theirs.
  case user
  /// A list at an address, for the origin of the address that the user wrote.
  case home
  /// A list at an address, for any other origin.
  case stranger

  /// The less the user has to do with it, the greater.
  package static func < (left: Provenance, right: Provenance) -> Bool {
    left != right && (left == .user || right == .stranger)
  }

  /// - Parameter list: the address of the list as the user wrote it; nil for a list of the user's own.
  package init(of address: Address, listedAt list: Address?) {
    self = list.map { $0.isSameOrigin(as: address) ? .home : .stranger } ?? .user
  }
}
