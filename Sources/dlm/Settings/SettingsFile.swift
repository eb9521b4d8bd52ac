import DownloadModel
import ArgumentParser
import Configuration
import Glibc
import SystemPackage

/// A settings file, and which of its settings count (HTTP rule 45).
struct SettingsFile {
  /// Where the file is from.
  enum Place {
    /// `./.dlm.yaml`: another user may have written it, so it may choose how dlm works, but never whom dlm
    /// trusts or where it writes.
    case workingFolder
    /// `$XDG_CONFIG_HOME/dlm/config.yaml`.
    case ownFolder
  }

  let path: FilePath
  private let place: Place
  /// The lines of the keys, from 1.
  private let numbers: [String: Int]
  private let snapshot: YAMLSnapshot

  /// - Returns: nil where there is no file, where it holds nothing, or where it is not to be believed.
  /// - Parameter say: told, in a line each, of what is not read or does not count, and what to do instead.
  /// - Throws: `ValidationError` naming a file that cannot be read or understood.
  init?(at path: FilePath, _ place: Place, say: ([String]) -> Void) throws {
    guard let bytes = try Self.bytes(of: path, place, say: say) else { return nil }
    let keys = Self.keys(bytes)
    say(
      keys.filter { !OptionTable.settingKeys.contains($0.name) }.map {
        UsageMessages.unknownKey($0.name, at: .file(path, line: $0.line))
      })
    if Self.isEmpty(bytes) { return nil }
    self.path = path
    self.place = place
    numbers = Dictionary(keys.map { ($0.name, $0.line) }) { first, _ in first }
    do {
      snapshot = try YAMLSnapshot(
        data: bytes.span.bytes, providerName: path.string, parsingOptions: .default)
    } catch {
      throw ValidationError(UsageMessages.unintelligible(path, error))
    }
    say(uncounted)
    for key in keys where OptionTable.settingKeys.contains(key.name) && counts(key.name) {
      // A list or a map is no value. Taken for none, it would go unnoticed.
      if written(key.name) == nil {
        throw ValidationError(UsageMessages.notOneValue(key.name, at: .file(path, line: key.line)))
      }
    }
  }

  /// The line of a key; nil where it does not begin one.
  func line(of key: String) -> Int? { numbers[key] }

  /// The value of a key, as written; nil where it says nothing, or nothing that counts here.
  func text(_ key: String) -> String? { counts(key) ? written(key) : nil }

  private func written(_ key: String) -> String? {
    // A list or a map has no text, which is a mistake (see `init`).
    try? snapshot.value(forKey: AbsoluteConfigKey([key]), type: .string).value?.content.text
  }

  private func counts(_ key: String) -> Bool {
    guard place == .workingFolder else { return true }
    if key == "on-conflict" { return written(key) != "overwrite" }
    return !OptionTable.ownersKeys.contains(key)
  }

  /// A line for each key that stands there and does not count; not for one that says what holds anyway.
  private var uncounted: [String] {
    (OptionTable.ownersKeys.sorted() + ["on-conflict"]).compactMap { key in
      guard !counts(key), let value = written(key), !Self.saysNothing(key, value) else { return nil }
      return UsageMessages.uncountedKey(key, at: .file(path, line: numbers[key]))
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

  /// Settings are a page; what is longer is not read to its end.
  private static let longest = 64 * 1024

  /// Opened once, checked, and read from the same descriptor, so that the file that was checked is the one
  /// that is read.
  private static func bytes(
    of path: FilePath, _ place: Place, say: ([String]) -> Void
  ) throws -> [UInt8]? {
    // In the user's own folder a link is a dotfile manager's; its target is checked like any file.
    let link = place == .workingFolder ? O_NOFOLLOW : 0
    // A pipe without a writer must not block.
    let raw = open(path.string, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | link)
    if raw < 0 {
      switch errno {
      case ENOENT, ENOTDIR: return nil
      case ELOOP:
        say([UsageMessages.settingsLink(path)])
        return nil
      case EACCES where access(path.string, F_OK) != 0: return nil  // In another user's folder.
      case let code:
        throw ValidationError(UsageMessages.unreadableSettings(path, String(cString: strerror(code))))
      }
    }
    let file = FileDescriptor(rawValue: raw)
    return try file.closeAfter {
      var status = stat()
      guard fstat(raw, &status) == 0 else { throw Errno(rawValue: errno) }
      if let why = Distrust(FileOwnership(status), user: geteuid(), trustsRoot: true) {
        say([UsageMessages.distrusted(path, why)])
        return nil
      }
      return Array(try file.bytes(upTo: longest).prefix(longest))
    }
  }

  private static func lines(_ bytes: [UInt8]) -> [Substring] {
    String(decoding: bytes, as: UTF8.self).split(
      omittingEmptySubsequences: false, whereSeparator: \.isNewline)
  }

  /// Whether there is nothing but blanks and comments.
  private static func isEmpty(_ bytes: [UInt8]) -> Bool {
    lines(bytes).allSatisfy { line in
      let text = line.drop { $0 == " " || $0 == "\t" }
      return text.isEmpty || text.hasPrefix("#") || text == "---"
    }
  }

  /// The keys that begin a line, as written but for quotes, with its number.
  private static func keys(_ bytes: [UInt8]) -> [(name: String, line: Int)] {
    lines(bytes).enumerated().compactMap { offset, line in
      guard let first = line.first, !" \t-#{".contains(first), let colon = line.firstIndex(of: ":") else {
        return nil
      }
      var name = line[..<colon]
      while let last = name.last, last == " " || last == "\t" { name.removeLast() }
      if name.count > 2, first == "\"" || first == "'", name.last == first {
        name = name.dropFirst().dropLast()
      }
      return (String(name), offset + 1)
    }
  }
}

extension ConfigContent {
  fileprivate var text: String? {
    if case .string(let text) = self { text } else { nil }
  }
}

/// Where dlm keeps things of its own (XDG Base Directory Specification): a relative value counts as unset.
///
/// Each is nil where there is neither a variable nor a home folder. There is no fallback: a folder that every
/// user can write, such as /tmp/.config, is not this user's. Nil is also one that another user owns or may
/// write: what is in it is not believed (`Distrust`).
struct XDGFolders {
  let config: FilePath?
  let cache: FilePath?
  let state: FilePath?
  /// Why a folder that is there is not believed.
  let (configWarning, cacheWarning, stateWarning): (String?, String?, String?)
  private let hasNoHome: Bool

  /// - Parameter homeByLogin: what the system's list of users says, for services and containers that run
  ///   without HOME.
  init(_ environment: [String: String], homeByLogin: () -> String? = Self.homeByLogin) {
    func absolute(_ text: String?) -> FilePath? {
      guard let text, FilePath(text).isAbsolute else { return nil }
      return FilePath(text)
    }
    let home = absolute(environment["HOME"]) ?? absolute(homeByLogin())
    func folder(_ variable: String, _ fallback: String, trustsRoot: Bool = false) -> (FilePath?, String?) {
      let place = absolute(environment[variable]) ?? home?.appending(fallback)
      guard let path = place?.appending("dlm") else { return (nil, nil) }
      guard let why = OwnFiles.distrust(folder: path, trustsRoot: trustsRoot) else { return (path, nil) }
      return (nil, TroubleMessages.distrusted(folder: path, why, variable))
    }
    (config, configWarning) = folder("XDG_CONFIG_HOME", ".config", trustsRoot: true)
    (cache, cacheWarning) = folder("XDG_CACHE_HOME", ".cache")
    (state, stateWarning) = folder("XDG_STATE_HOME", ".local/state")
    hasNoHome = cache == nil && cacheWarning == nil || state == nil && stateWarning == nil
  }

  /// The messages, shown once, where cache and state cannot be had.
  var warnings: [String] {
    let noHome =
      hasNoHome
      ? TroubleMessages.noHome(
        cache: cache == nil && cacheWarning == nil, state: state == nil && stateWarning == nil) : nil
    return [noHome, cacheWarning, stateWarning].compactMap(\.self)
  }

  private static func homeByLogin() -> String? {
    guard let entry = getpwuid(getuid()), let path = entry.pointee.pw_dir else { return nil }
    let home = String(cString: path)
    return home == "/" ? nil : home
  }
}
