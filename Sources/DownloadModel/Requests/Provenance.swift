/// Who chose a URL. That decides which of the user's headers and secrets are sent there (HTTP rule 42), and whether its
/// file may be hidden (HTTP rule 45).
package enum Provenance: String, Sendable, Comparable {
  /// The user: on the command line, or in a list of theirs.
  case user
  /// A downloaded list, for the origin of the list's URL.
  case home
  /// A downloaded list, for any other origin.
  case thirdParty = "stranger"

  /// The less control the user has, the greater.
  package static func < (left: Provenance, right: Provenance) -> Bool {
    left != right && (left == .user || right == .thirdParty)
  }

  /// - Parameter list: the URL of the list as the user wrote it; `nil` for the user's own list.
  package init(of address: Address, listedAt list: Address?) {
    self = list.map { $0.isSameOrigin(as: address) ? .home : .thirdParty } ?? .user
  }
}
