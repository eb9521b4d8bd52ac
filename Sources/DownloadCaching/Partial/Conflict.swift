/// What is done about something that stands under a wanted name and is not this address's own: a function of values
/// (contract, `--on-conflict`; http.md 22).
enum Conflict: Equatable {
  /// The new file takes the name.
  case replace
  /// What stands there stays, and the new file is dropped.
  case leave
  /// The same bytes may stand there already.
  case lookForTwin
  /// The new file takes a number.
  case number

  /// - Parameters:
  ///   - isAnothers: whether what stands there was given to another address. The policy is about files that dlm did not
  ///     write; of two addresses each has its file under every policy.
  ///   - looksForTwin: false once that was looked for.
  static func decide(_ policy: ConflictPolicy, isAnothers: Bool, looksForTwin: Bool) -> Conflict {
    switch policy {
    case .overwrite where !isAnothers: .replace
    case .skip where !isAnothers: .leave
    default: looksForTwin ? .lookForTwin : .number
    }
  }
}
