import Foundation
import Glibc

/// posix_spawn(3) with what a test needs: three pipes, an empty signal mask and every signal's default action.
enum CommandSpawn {
  /// - Throws: when the executable cannot be started.
  static func start(
    _ executable: String, _ arguments: [String], environment: [String: String], pipes: CommandPipes
  ) throws(SupportFailure) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The copies that dup2 makes are inherited, whatever the originals' flag.
    posix_spawn_file_actions_adddup2(&actions, pipes.inputRead, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, pipes.outputWrite, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, pipes.errorsWrite, STDERR_FILENO)

    // The threads of Swift's pool block signals, and a child inherits that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    var processID: pid_t = 0
    let lines = environment.map { "\($0.key)=\($0.value)" }
    let failure = withCStrings([executable] + arguments) { argv in
      withCStrings(lines) { envp in
        Descriptors.lock.withLock {
          posix_spawnp(&processID, executable, &actions, &attributes, argv, envp)
        }
      }
    }
    if failure != 0 { throw .systemCall("starting \(executable)", errno: failure) }
    return processID
  }

  private static func withCStrings<Value>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Value
  ) -> Value {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}
