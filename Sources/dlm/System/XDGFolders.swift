import FileReceiving
import FoundationEssentials
import Glibc
import SystemPackage

/// The folders of dlm's own files (XDG Base Directory Specification; a relative value counts as unset): `nil` if there
/// is neither a variable nor a home folder, and if other users own or may write the folder (`Distrust`).
struct XDGFolders {
  let config, cache, state: FilePath?
  /// Why an existing folder is not trusted.
  let configWarning, cacheWarning, stateWarning: String?

  /// - Parameter homeByLogin: for services and containers that run without HOME.
  init(
    _ environment: [String: String] = ProcessInfo.processInfo.environment, homeByLogin: () -> String? = Self.homeByLogin
  ) {
    func absolute(_ text: String?) -> FilePath? {
      guard let text, FilePath(text).isAbsolute else { return nil }
      return FilePath(text)
    }
    let home = absolute(environment["HOME"]) ?? absolute(homeByLogin())
    func folder(_ variable: String, _ fallback: String, trustsRoot: Bool = false) -> (FilePath?, String?) {
      let place = absolute(environment[variable]) ?? home?.appending(fallback)
      guard let path = place?.appending("dlm") else { return (nil, nil) }
      guard let why = OwnFiles.distrust(folder: path, trustsRoot: trustsRoot) else { return (path, nil) }
      let cause =
        why == .othersWrite
        ? "others can write to it; look at what is in it, then chmod 700 it"
        : "it belongs to another user; remove it, or name one of yours in \(variable)"
      return (nil, "dlm: \(path) is not trusted and not used: \(cause)")
    }
    (config, configWarning) = folder("XDG_CONFIG_HOME", ".config", trustsRoot: true)
    (cache, cacheWarning) = folder("XDG_CACHE_HOME", ".cache")
    (state, stateWarning) = folder("XDG_STATE_HOME", ".local/state")
  }

  var warnings: [String] {
    let missing = [
      cache == nil && cacheWarning == nil ? "the cache" : nil,
      state == nil && stateWarning == nil ? "the memory of its last list" : nil,
    ].compactMap(\.self)
    let noHome =
      "dlm: there is no home folder (HOME is not set, and the system knows none for this user), so this run goes "
      + "without \(missing.joined(separator: " and ")); set HOME, or XDG_CACHE_HOME and XDG_STATE_HOME"
    return [missing.isEmpty ? nil : noHome, cacheWarning, stateWarning].compactMap(\.self)
  }

  private static func homeByLogin() -> String? {
    guard let entry = getpwuid(getuid()), let path = entry.pointee.pw_dir else { return nil }
    let home = String(cString: path)
    return home == "/" ? nil : home
  }
}
