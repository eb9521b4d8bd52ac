/// The downloaded bytes by request, and not by name, because names may depend on the order of the answers.
package struct ContentManifest: Sendable {
  /// By the position of the request in the list: its URL without credentials, and a digest in a form that the caller
  /// chooses; it is only compared.
  private let files: [Int: (address: String, digest: String)]

  package init(files: [Int: (address: String, digest: String)]) { self.files = files }

  /// The first file, in the list's order, in which this manifest differs from another.
  func firstDifference(from reference: ContentManifest) -> Difference? {
    for id in Set(files.keys).union(reference.files.keys).sorted() {
      switch (files[id], reference.files[id]) {
      case (let file?, nil): return .unexpected(address: file.address)
      case (nil, let other?): return .missing(address: other.address)
      case (let file?, let other?) where file.digest != other.digest: return .bytes(address: file.address)
      default: continue
      }
    }
    return nil
  }

  /// A difference between the files of two runs.
  package enum Difference: Sendable, Equatable {
    case bytes(address: String)
    /// Only the other run had it.
    case missing(address: String)
    /// The other run did not have it.
    case unexpected(address: String)
  }
}
