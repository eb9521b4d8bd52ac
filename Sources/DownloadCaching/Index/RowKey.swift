/// What an index row is about: an address as asked for from one folder.
///
/// The path follows from it and not the other way round: a file keeps its row when a conflict gives it another
/// name, and one address may stand in several folders, and under several names that the user chose.
struct RowKey: Sendable, Hashable {
  /// Without credentials and fragment.
  var address: String
  /// See `CredentialScope`.
  var scope: String
  /// Canonical path of the output folder.
  var directory: String
  /// The name that the user chose; empty if the server and the address decided.
  var requested: String

  /// The same in every process.
  var stableHash: UInt64 {
    var hash = Hash.of(address.utf8)
    for part in [scope, directory, requested] where !part.isEmpty { hash = (hash &* 31) ^ Hash.of(part.utf8) }
    return hash
  }
}
