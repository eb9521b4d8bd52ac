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
    /// trusts or where it writes, nor loosen what its user demands.
    case workingFolder
    /// `$XDG_CONFIG_HOME/dlm/config.yaml`.
    case ownFolder
  }

  let path: FilePath
  /// The lines of the keys, from 1.
  private let numbers: [String: Int]
  private let snapshot: YAMLSnapshot
  /// Keys that stand there and do not count.
  private var uncounted: Set<String> = []

  /// - Returns: nil where there is no file, where it holds nothing, or where it is not to be believed.
  /// - Parameters:
  ///   - own: the user's own file, beside that of a working folder.
  ///   - say: told, in a line each, of what is not read or does not count, and what to do instead.
  /// - Throws: `ValidationError` naming a file that cannot be read or understood.
  init?(
    at path: FilePath, _ place: Place, besides own: SettingsFile? = nil, say: ([String]) -> Void
  ) throws {
    guard let bytes = try Self.bytes(of: path, place, say: say) else { return nil }
    let keys = Self.keys(bytes)
    say(
      keys.filter { !OptionTable.settingKeys.contains($0.name) }.map {
        UsageMessages.unknownKey($0.name, at: .file(path, line: $0.line))
      })
    if Self.isEmpty(bytes) { return nil }
    // Ten lines of them come to more values than any memory holds.
    if Self.hasAlias(bytes) { throw ValidationError(UsageMessages.aliases(path)) }
    self.path = path
    numbers = Dictionary(keys.map { ($0.name, $0.line) }) { first, _ in first }
    do {
      snapshot = try YAMLSnapshot(
        data: bytes.span.bytes, providerName: path.string, parsingOptions: .default)
    } catch {
      throw ValidationError(UsageMessages.unintelligible(path, error))
    }
    if place == .workingFolder { leaveOut(besides: own, say) }
    for key in keys where OptionTable.settingKeys.contains(key.name) && !uncounted.contains(key.name) {
      // A list or a map is no value. Taken for none, it would go unnoticed.
      if written(key.name) == nil {
        throw ValidationError(UsageMessages.notOneValue(key.name, at: .file(path, line: key.line)))
      }
    }
  }

  /// The line of a key; nil where it does not begin one.
  func line(of key: String) -> Int? { numbers[key] }

  /// The value of a key, as written; nil where it says nothing, or nothing that counts here.
  func text(_ key: String) -> String? { uncounted.contains(key) ? nil : written(key) }

  private func written(_ key: String) -> String? {
    // A list or a map has no text, which is a mistake (see `init`).
    try? snapshot.value(forKey: AbsoluteConfigKey([key]), type: .string).value?.content.text
  }

  /// Finds what does not count in a working folder. Nothing is said of what holds anyway.
  private mutating func leaveOut(besides own: SettingsFile?, _ say: ([String]) -> Void) {
    for row in OptionTable.rows {
      guard let value = written(row.name) else { continue }
      let place = SettingOrigin.file(path, line: numbers[row.name])
      if !row.counts(value, besides: own?.demand(row.name)) {
        if !Self.saysNothing(row.name, value) {
          say([UsageMessages.uncountedKey(row.name, value, row.setting, at: place)])
        }
      } else if row.file != nil, Self.isStream(value) {
        say([UsageMessages.uncountedStream(row.name, value, at: place)])
      } else {
        continue
      }
      uncounted.insert(row.name)
    }
  }

  /// What the user's own file says of a setting. Who demands that checksums prove files chooses the checksums
  /// too: a folder's list would prove whatever came with it.
  private func demand(_ key: String) -> String? {
    let isProof = key == "checksums" && text("require-proof").flatMap(Proof.init(argument:)) == .digest
    return text(key) ?? (isProof ? "" : nil)
  }

  /// Whether a path leads to something that may never end, or wait for a writer that never comes.
  private static func isStream(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
  }

  private static func saysNothing(_ key: String, _ value: String) -> Bool {
    switch key {
    case "insecure", "tlsv1.2", "tlsv1.3": YesOrNo(argument: value)?.isOn == false
    case "directory": value == "."
    default: false
    }
  }

  // MARK: Reading

  /// Settings are a page.
  private static let longest = 64 * 1024

  private static func bytes(
    of path: FilePath, _ place: Place, say: ([String]) -> Void
  ) throws -> [UInt8]? {
    do throws(UserFile.Refusal) {
      // In the user's own folder a link is a dotfile manager's; its target is checked like any file.
      return try UserFile.bytes(path.string, upTo: longest, behindLink: place == .ownFolder)
    } catch .system(.noSuchFileOrDirectory), .system(.notDirectory) {
      return nil
    } catch .system(.permissionDenied) where access(path.string, F_OK) != 0 {
      return nil  // In another user's folder.
    } catch .system(.tooManySymbolicLinkLevels) {
      say([UsageMessages.settingsLink(path)])
      return nil
    } catch .distrusted(let why) {
      say([UsageMessages.distrusted(path, why)])
      return nil
    } catch {
      throw ValidationError(UsageMessages.unreadableSettings(path, UsageMessages.cause(error)))
    }
  }

  private static func lines(_ bytes: [UInt8]) -> [Substring] {
    String(decoding: bytes, as: UTF8.self).split(
      omittingEmptySubsequences: false, whereSeparator: \.endsLine)
  }

  /// Whether a value is named (`&x`) and repeated (`*x`).
  private static func hasAlias(_ bytes: [UInt8]) -> Bool {
    func names(behind mark: Unicode.Scalar) -> Set<[UInt8]> {
      Set(
        bytes.indices.filter { bytes[$0] == UInt8(ascii: mark) }.map { index in
          bytes[(index + 1)...].prefix {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) || "-_".utf8.contains($0)
          }.map(\.self)
        })
    }
    return !names(behind: "&").isDisjoint(with: names(behind: "*").subtracting([[]]))
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
