import Glibc

/// The signals that end the server: it ends what it has started first.
enum EndSignals {
  private static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&set, signal) }
    return set
  }

  /// To be called before the first thread, which inherits it.
  static func hold() {
    var held = set
    pthread_sigmask(SIG_BLOCK, &held, nil)
  }

  /// Blocks until one arrives.
  static func next() -> Int32 {
    var held = set
    var signal: Int32 = 0
    sigwait(&held, &signal)
    return signal
  }

  /// Ends this process by a signal, as its parent expects.
  static func end(by number: Int32) -> Never {
    signal(number, SIG_DFL)
    var held = set
    pthread_sigmask(SIG_UNBLOCK, &held, nil)
    raise(number)
    exit(128 + number)
  }
}
