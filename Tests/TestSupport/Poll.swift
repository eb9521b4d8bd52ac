/// Waits until a condition is met, looking 100 times a second.
/// - Parameter what: for the failure, such as "the file to be open".
/// - Throws: `SupportFailure` after `safetyLimit`; `CancellationError`.
package func poll(_ what: String, until isMet: () async throws -> Bool) async throws {
  let end = ContinuousClock.now + safetyLimit
  while ContinuousClock.now < end {
    if try await isMet() { return }
    try await Task.sleep(for: .milliseconds(10))
  }
  throw SupportFailure("waited \(safetyLimit) in vain for \(what)")
}
