/// Why an origin does not run.
public enum DemoOriginError: Error, Equatable, Sendable {
  /// `start()` was called on an origin that runs.
  case alreadyRunning
  /// No socket on the loopback interface could be had; the system's reason.
  case cannotListen(String)
}
