import DownloadModel
import FileReceiving
import Glibc

/// Identifies a process for good, although its number is used again: by when it started, in which run of the machine.
package struct RunProcess: Codable, Equatable, Sendable {
  package var number: Int32
  /// Clock ticks since the machine started (proc_pid_stat(5), field 22); `nil` if unknown.
  var start: UInt64?
  /// Of the machine's present run; `nil` if unknown.
  var boot: String?
  var host: String

  package static var current: RunProcess {
    RunProcess(number: getpid(), start: start(of: getpid()), boot: presentBoot, host: presentHost)
  }

  package var isOnThisMachine: Bool { host == Self.presentHost }

  /// Whether the machine has been started again since.
  package var isOfEarlierBoot: Bool { boot != nil && boot != Self.presentBoot }

  /// False if unknown.
  package var isAlive: Bool { start != nil && !isOfEarlierBoot && start == Self.start(of: number) }

  private static var presentHost: String {
    var name = utsname()
    uname(&name)
    return withUnsafeBytes(of: name.nodename) { String(utf8: $0.prefix { $0 != 0 }) }
  }

  private static var presentBoot: String? {
    text(of: "/proc/sys/kernel/random/boot_id").map { String($0.prefix { $0 != "\n" }) }
  }

  private static func start(of process: Int32) -> UInt64? {
    // The second field is a name in parentheses that may contain both of them and blanks.
    guard let text = text(of: "/proc/\(process)/stat"), let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[end...].split(separator: " ")
    return fields.count > 20 ? UInt64(fields[20]) : nil
  }

  private static func text(of path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &bytes, bytes.count)
    return count > 0 ? String(utf8: bytes.prefix(count)) : nil
  }
}
