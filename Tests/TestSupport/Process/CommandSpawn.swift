import Foundation
import Glibc

/// posix_spawn(3) with what a test needs: three pipes, an empty signal mask and every signal's default
/// action.
enum CommandSpawn {
  /// - Throws: when the executable cannot be started.
  static func start(
    _ executable: String, _ arguments: [String], environment: [String: String], pipes: CommandPipes
  ) throws(SupportFailure) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, pipes.inputRead, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, pipes.outputWrite, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, pipes.errorsWrite, STDERR_FILENO)
    let refusal = closeFrom(&actions, STDERR_FILENO + 1)
    if refusal != 0 { throw .systemCall("starting \(executable)", errno: refusal) }

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
        posix_spawnp(&processID, executable, &actions, &attributes, argv, envp)
      }
    }
    if failure != 0 { throw .systemCall("starting \(executable)", errno: failure) }
    return processID
  }

  private typealias CloseFrom =
    @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

  /// posix_spawn_file_actions_addclosefrom_np(3), which Swift's Glibc module does not show. Without it a
  /// child keeps what other tests have open at that moment: a connection would stay up though its server has
  /// closed it.
  private static func closeFrom(_ actions: inout posix_spawn_file_actions_t, _ first: Int32) -> Int32 {
    guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return ENOSYS }
    return unsafeBitCast(symbol, to: CloseFrom.self)(&actions, first)
  }

  private static func withCStrings<Value>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Value
  ) -> Value {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}

/// The three pipes between a test and its command.
struct CommandPipes: Sendable {
  var inputRead: Int32 = -1
  var inputWrite: Int32 = -1
  var outputRead: Int32 = -1
  var outputWrite: Int32 = -1
  var errorsRead: Int32 = -1
  var errorsWrite: Int32 = -1

  init() throws(SupportFailure) {
    do throws(SupportFailure) {
      (inputRead, inputWrite) = try Self.pipe()
      (outputRead, outputWrite) = try Self.pipe()
      (errorsRead, errorsWrite) = try Self.pipe()
    } catch {
      closeChildSide()
      closeOwnSide()
      throw error
    }
  }

  /// No child keeps its ends: `CommandSpawn` closes them there.
  static func pipe() throws(SupportFailure) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    if Glibc.pipe(&ends) != 0 { throw .systemCall("pipe", errno: errno) }
    return (ends[0], ends[1])
  }

  func closeChildSide() { Self.close([inputRead, outputWrite, errorsWrite]) }

  func closeOwnSide() { Self.close([inputWrite, outputRead, errorsRead]) }

  private static func close(_ descriptors: [Int32]) {
    for descriptor in descriptors where descriptor >= 0 { Glibc.close(descriptor) }
  }
}
