/// The activity of a file at a time.
package enum FilePhase: String, Sendable, CaseIterable {
  /// It waits for its turn, or between two attempts.
  case queued
  case lookingUp = "lookup"
  case connecting = "connect"
  case securing = "tls"
  case waiting
  case receiving
  /// It is complete, and is verified and renamed.
  case finishing
}
