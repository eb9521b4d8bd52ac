import Foundation
import Glibc

/// A disk of its own for a test: a file system in a file, mounted by a loop device.
///
///     let disk = try await LoopDisk(.btrfs)
///     defer { disk.stop() }
package final class LoopDisk: Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    /// Share the blocks of files.
    case btrfs, xfs
    /// Shares none.
    case ext4
  }

  private let folder: TemporaryFolder
  /// Where it is mounted.
  package let path: String

  /// Whether this machine lets its user mount such a disk.
  package static func isAllowed(_ kind: Kind) -> Bool { allowed.contains(kind) }

  private static let allowed: Set<Kind> = {
    guard geteuid() == 0, access("/dev/loop-control", R_OK | W_OK) == 0 else { return [] }
    let systems = (try? String(contentsOfFile: "/proc/filesystems", encoding: .utf8)) ?? ""
    return Set(
      Kind.allCases.filter { kind in
        systems.contains("\t\(kind.rawValue)\n")
          && ["/sbin", "/usr/sbin"].contains { access("\($0)/mkfs.\(kind.rawValue)", X_OK) == 0 }
      })
  }()

  /// - Parameter size: in MiB; xfs takes no disk below 300.
  /// - Throws: when it cannot be made or mounted.
  package init(_ kind: Kind, size: Int = 320) async throws {
    folder = try TemporaryFolder()
    path = folder.path("disk")
    try folder.makeFolder("disk")
    let image = folder.path("image")
    try await Self.run("truncate", ["-s", "\(size)M", image])
    try await Self.run("mkfs.\(kind.rawValue)", ["-q", image])
    try await Self.run("mount", ["-o", "loop", image, path])
  }

  private static func run(_ command: String, _ arguments: [String]) async throws {
    var environment = ProcessInfo.processInfo.environment
    environment["PATH"] = (environment["PATH"] ?? "") + ":/sbin:/usr/sbin"
    let result = try await CommandRun.result(
      of: "env", [command] + arguments, environment: environment)
    guard result.status == 0 else { throw SupportFailure("\(command): \(result.errorText)") }
  }

  deinit { stop() }

  /// Unmounts it. What still uses it keeps it until then.
  package func stop() { _ = umount2(path, Int32(MNT_DETACH)) }

  /// Bytes that are taken of it.
  package func used() -> Int64 {
    sync()
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return 0 }
    return Int64(status.f_blocks - status.f_bfree) * Int64(status.f_frsize)
  }
}
