/// Waits until a condition is met, looking 100 times a second for up to a minute.
/// - Parameter what: for the failure, such as "the file to be open".
/// - Throws: `SupportFailure` after a minute; `CancellationError`.
package func poll(_ what: String, until isMet: () throws -> Bool) async throws {
  for _ in 0..<6000 {
    if try isMet() { return }
    try await Task.sleep(for: .milliseconds(10))
  }
  throw SupportFailure("waited a minute in vain for \(what)")
}
