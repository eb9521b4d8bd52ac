import DownloadModel
import FoundationEssentials
import Glibc
import RunDoors
import SystemPackage

/// A run that leaves its terminal. `dlm get --detach` starts a process of its own, which does everything that comes
/// before the first byte with the terminal still at hand, and only then leaves it: so what is wrong is said there, and
/// questions are asked there. The words come through a socket, because every user can see a command line.
enum DetachedStart {
  /// What one `dlm` hands to the other.
  struct Words: Codable {
    var words: [String]
    /// Whether it goes on for a run that stops.
    var isContinued: Bool
    /// The number of the ended run that it goes on with.
    var resumed: Int?
  }

  /// The command line of the second process.
  private static let mark = "detached"
  /// The descriptor of the socket there.
  private static let channel: Int32 = 3

  /// Whether this process is to leave its terminal. Set once, before the first thread.
  private static let isAsked = CommandLine.arguments.dropFirst() == [mark] && isSocket(channel)

  private static func isSocket(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
  }

  static var isThisProcess: Bool { isAsked }

  static var isContinued: Bool { handed?.isContinued == true }
  static var resumed: Int? { handed?.resumed }

  /// The words of this process: those that were handed over, else those of its command line.
  static var words: [String] { isAsked ? handed?.words ?? [] : Array(CommandLine.arguments.dropFirst()) }

  private static let handed: Words? = {
    guard isAsked else { return nil }
    _ = fcntl(channel, F_SETFD, FD_CLOEXEC)
    // The terminal that closes must not end it while it leaves.
    signal(SIGHUP, SIG_IGN)
    let bytes = try? FileDescriptor(rawValue: channel).line()
    return bytes.flatMap { Words(json: $0) }
  }()

  // MARK: The first process

  /// - Returns: the number of the run, once it has left the terminal.
  /// - Throws: the exit status of the second process, which has said why.
  static func start(_ words: [String], isContinued: Bool = false, resuming run: Int? = nil) throws -> Int {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw refusal(Errno(rawValue: errno))
    }
    let own = FileDescriptor(rawValue: ends[0])
    defer { try? own.close() }
    var process = pid_t()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], channel)
    let arguments = ["dlm", mark].map { (word: String) in strdup(word) } + [nil]
    defer { for argument in arguments { free(argument) } }
    let code = posix_spawn(&process, "/proc/self/exe", &actions, nil, arguments, environ)
    close(ends[1])
    guard code == 0 else { throw refusal(Errno(rawValue: code)) }
    // Strings always encode. If the process has ended, its status says why.
    let start = Words(words: words, isContinued: isContinued, resumed: run)
    let handed = (try? JSONEncoder().encode(start)).map(Array.init) ?? []
    _ = try? own.writeWhole(handed + [.newline])
    if let line = try? own.line(), let number = Int(String(utf8: line)) { return number }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    throw status & 0x7F == 0 ? ExitStatus(rawValue: status >> 8 & 0xFF) ?? .failed : .failed
  }

  private static func refusal(_ error: Errno) -> Refusal {
    Refusal("dlm: no process can be started for a detached run: \(error); run it without --detach", .tryAgain)
  }

  // MARK: The second process

  /// Leaves the terminal, its session and its streams for the log of the run, and tells the first process.
  /// - Throws: errno if there is no log; the terminal is then still at hand.
  static func leave(as number: Int, _ log: RunLogFile) throws(Errno) {
    try log.open()
    setsid()
    let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
    if null >= 0 { dup2(null, STDIN_FILENO) }
    // The first process may have been killed, and the run goes on.
    _ = try? FileDescriptor(rawValue: channel).writeWhole(Array("\(number)\n".utf8))
    close(channel)
  }
}

extension FileDescriptor {
  /// The bytes up to a line's end; empty at the end.
  fileprivate func line() throws -> [UInt8] {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while try withUnsafeMutableBytes(of: &byte, { try read(into: $0) }) == 1, byte != .newline {
      line.append(byte)
    }
    return line
  }
}
