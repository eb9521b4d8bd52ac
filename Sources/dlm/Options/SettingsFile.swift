import ArgumentParser
import Glibc
import SystemPackage

/// What is looked at in a settings file before it is parsed: that it can be read, and that its keys mean something.
enum SettingsFile {
  /// Every key that a settings file, or DLM_… in the environment, may set.
  static let keys: Set<String> = [
    "mode", "jobs", "per-host", "loops", "segments", "limit-rate", "retries", "retry-max-time",
    "connect-timeout",
    "stall-timeout",
    "directory",
    "on-conflict", "require-proof", "fsync", "no-cache", "refresh", "offline", "no-content-disposition",
    "progress",
    "http2", "user-agent", "cacert", "insecure", "proxy", "netrc-file",
  ]

  /// The lines that say something: neither blank nor comments.
  /// - Throws: `ValidationError` that names the file and the cause.
  static func lines(of path: FilePath) throws -> [Substring] {
    let bytes: [UInt8]
    do {
      let file = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec])
      bytes = try file.closeAfter {
        // Settings are a page; what is longer is none of ours.
        try [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
          count = try file.read(into: UnsafeMutableRawBufferPointer(buffer), retryOnInterrupt: true)
        }
      }
    } catch {
      let cause = (error as? Errno).map { "\($0)" } ?? "\(error)"
      throw ValidationError(
        "The settings file \(path) cannot be read: \(cause). Mend its rights or move it away.")
    }
    return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).filter { line in
      let text = line.drop { $0 == " " || $0 == "\t" }
      return !text.isEmpty && !text.hasPrefix("#") && text != "---"
    }
  }

  /// Keys, as written, that no setting has: a slip of the pen that would otherwise go unnoticed.
  static func unknownKeys(in lines: [Substring]) -> [String] {
    lines.compactMap { line in
      guard let first = line.first, first != " ", first != "\t", first != "-",
        let colon = line.firstIndex(of: ":")
      else { return nil }
      let key = String(line[..<colon])
      return keys.contains(key) ? nil : key
    }
  }
}
