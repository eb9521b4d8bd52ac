/// A name in flight; it is free again when the claim is gone, on whatever path that happens.
struct NameClaim: ~Copyable, Sendable {
  let name: String
  private let owner: NameClaims

  init(name: String, owner: NameClaims) {
    self.name = name
    self.owner = owner
  }

  deinit { owner.release(name) }
}
