import DownloadModel
import FoundationEssentials
import Glibc
import SystemPackage

/// Whether the end of the user's last login kills all their processes (logind.conf(5), KillUserProcesses).
enum LoginManager {
  /// What to do about it; `nil` if a detached run survives.
  static var warning: String? {
    let folders = ["/usr/lib/systemd", "/run/systemd", "/etc/systemd"]
    let texts = folders.flatMap { folder in
      let parts = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/logind.conf.d")) ?? []
      return ["\(folder)/logind.conf"]
        + parts.filter { $0.hasSuffix(".conf") }.sorted().map {
          "\(folder)/logind.conf.d/\($0)"
        }
    }.map { String(utf8: FileManager.default.contents(atPath: $0).map(Array.init) ?? []) }
    guard access("/run/systemd/system", F_OK) == 0, kills(texts), let name = user,
      access("/var/lib/systemd/linger/\(name)", F_OK) != 0
    else { return nil }
    return "dlm: logging out kills it here (KillUserProcesses=yes): loginctl enable-linger keeps it"
  }

  private static var user: String? { getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } }

  /// - Parameter texts: the settings files; a later one overrides those before.
  static func kills(_ texts: [String]) -> Bool {
    var kills = false
    for line in texts.joined(separator: "\n").split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1).map { $0.filter { !$0.isWhitespace } }
      guard parts.count == 2, parts[0] == "KillUserProcesses" else { continue }
      kills = ["yes", "true", "on", "1"].contains(parts[1].lowercased())
    }
    return kills
  }
}
