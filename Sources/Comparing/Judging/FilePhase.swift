import DownloadModel

/// What a file does at a time.
package enum FilePhase: String, Sendable, CaseIterable {
  /// It waits for its turn, or between two attempts.
  case queued
  case lookingUp = "lookup"
  case connecting = "connect"
  case securing = "tls"
  case waiting
  case receiving
  /// All of it is there, and is checked and put in its place.
  case finishing
}
