import ArgumentParser
import Configuration
import Glibc
import SystemPackage

/// A settings file that may be believed, and how far (http.md 45).
struct SettingsFile {
  /// Whose word it is.
  enum Place {
    /// `./.dlm.yaml`: whoever gave the user this folder may choose how dlm works, never whom it trusts or where it writes.
    case workingFolder
    /// `$XDG_CONFIG_HOME/dlm/config.yaml`.
    case ownFolder
  }

  /// Every key that a settings file, or DLM_… in the environment, may set.
  static let keys: Set<String> = [
    "mode", "jobs", "per-host", "loops", "segments", "limit-rate", "retries", "retry-max-time",
    "connect-timeout",
    "stall-timeout",
    "directory",
    "on-conflict", "max-filesize", "require-proof", "fsync", "no-cache", "refresh", "offline",
    "no-content-disposition",
    "progress",
    "http2", "user-agent", "cacert", "insecure", "proxy", "netrc-file", "cookie-jar",
    "crlfile", "cert", "cert-type", "key", "cert-passphrase-file", "pinnedpubkey", "tlsv1.2", "tlsv1.3",
    "tls-max",
  ]

  /// Whom dlm trusts, and where it writes: keys that do not count in the working folder.
  static let ownersKeys: Set<String> = [
    "proxy", "insecure", "cacert", "netrc-file", "cookie-jar", "directory",
    "crlfile", "cert", "cert-type", "key", "cert-passphrase-file", "pinnedpubkey", "tlsv1.2", "tlsv1.3",
    "tls-max",
  ]

  let path: FilePath
  let place: Place
  private let snapshot: YAMLSnapshot

  /// - Returns: nil where there is no file, where it holds nothing, or where it is not to be believed.
  /// - Parameter say: told, in a line each, of what is not read or does not count, and what to do instead.
  /// - Throws: `ValidationError` naming a file that cannot be read or understood.
  init?(at path: FilePath, _ place: Place, say: ([String]) -> Void) throws {
    guard let bytes = try Self.bytes(of: path, place, say: say) else { return nil }
    let lines = Self.lines(bytes)
    say(Self.unknownKeys(in: lines).map { "\(path): \($0) is no setting of dlm; left out" })
    if lines.isEmpty { return nil }
    self.path = path
    self.place = place
    do {
      snapshot = try YAMLSnapshot(
        data: bytes.span.bytes, providerName: path.string, parsingOptions: .default)
    } catch {
      throw ValidationError(
        "The settings file \(path) cannot be understood: \(error) Mend it or move it away.")
    }
    say(uncounted)
  }

  /// The value of a key, as written; nil where it says nothing, or nothing that counts here.
  func text(_ key: String) -> String? { counts(key) ? written(key) : nil }

  private func written(_ key: String) -> String? {
    // A list or a map where a word belongs is no value: the key then counts as not set.
    try? snapshot.value(forKey: AbsoluteConfigKey([key]), type: .string).value?.content.text
  }

  private func counts(_ key: String) -> Bool {
    guard place == .workingFolder else { return true }
    if key == "on-conflict" { return written(key) != "overwrite" }
    return !Self.ownersKeys.contains(key)
  }

  /// A line for each key that stands there and does not count; not for one that says what holds anyway.
  private var uncounted: [String] {
    (Self.ownersKeys.sorted() + ["on-conflict"]).compactMap { key in
      guard !counts(key), let value = written(key), !Self.saysNothing(key, value) else { return nil }
      let variable = SettingsSources.variable(key)
      let setting = key == "on-conflict" ? "on-conflict: overwrite" : key
      return
        "\(path): \(setting) does not count in a working folder; set it in your own config.yaml, in \(variable), or with --\(key)"
    }
  }

  private static func saysNothing(_ key: String, _ value: String) -> Bool {
    switch key {
    case "insecure", "tlsv1.2", "tlsv1.3": YesOrNo(argument: value)?.isOn == false
    case "directory": value == "."
    default: false
    }
  }

  // MARK: Reading

  /// Settings are a page; what is longer is none of ours.
  private static let longest = 64 * 1024

  /// Opened once, looked at, and read from the same descriptor, so that what was looked at is what is read.
  private static func bytes(
    of path: FilePath, _ place: Place, say: ([String]) -> Void
  ) throws -> [UInt8]? {
    // A link in one's own folder is a dotfile manager's; what it leads to is judged like any file.
    let link = place == .workingFolder ? O_NOFOLLOW : 0
    // A pipe without a writer must not hold anything up.
    let raw = open(path.string, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | link)
    if raw < 0 {
      switch errno {
      case ENOENT, ENOTDIR: return nil
      case ELOOP:
        say(["\(path) is a link, and not read: a settings file of the working folder is a file there"])
        return nil
      case EACCES where access(path.string, F_OK) != 0: return nil  // In a folder that is somebody else's.
      case let code:
        throw ValidationError(
          "The settings file \(path) cannot be read: \(String(cString: strerror(code))). Mend its rights or move it away."
        )
      }
    }
    let file = FileDescriptor(rawValue: raw)
    return try file.closeAfter {
      var status = stat()
      guard fstat(raw, &status) == 0 else { throw Errno(rawValue: errno) }
      if let why = distrust(status, user: geteuid()) {
        say(["\(path) is not read: \(why)"])
        return nil
      }
      return try [UInt8](unsafeUninitializedCapacity: longest) { buffer, count in
        count = try file.read(into: UnsafeMutableRawBufferPointer(buffer), retryOnInterrupt: true)
      }
    }
  }

  /// Why a file's word does not count, and what to do; nil if it does.
  static func distrust(_ status: stat, user: uid_t) -> String? {
    if status.st_mode & S_IFMT != S_IFREG { return "it is no regular file" }
    if status.st_uid != user, status.st_uid != 0 {
      return "it belongs to another user; copy it, if you trust what it says"
    }
    if status.st_mode & 0o022 != 0 { return "others can write it; chmod go-w makes it yours alone" }
    return nil
  }

  /// The lines that say something: neither blank nor comments.
  private static func lines(_ bytes: [UInt8]) -> [Substring] {
    String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).filter { line in
      let text = line.drop { $0 == " " || $0 == "\t" }
      return !text.isEmpty && !text.hasPrefix("#") && text != "---"
    }
  }

  /// Keys, as written, that no setting has: a slip of the pen that would otherwise go unnoticed.
  private static func unknownKeys(in lines: [Substring]) -> [String] {
    lines.compactMap { line in
      guard let first = line.first, first != " ", first != "\t", first != "-",
        let colon = line.firstIndex(of: ":")
      else { return nil }
      let key = String(line[..<colon])
      return keys.contains(key) ? nil : key
    }
  }
}

extension ConfigContent {
  fileprivate var text: String? {
    if case .string(let text) = self { text } else { nil }
  }
}
