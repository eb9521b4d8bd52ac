import Glibc
import SystemPackage

/// Where dlm keeps things of its own (XDG Base Directory Specification): a relative value counts as unset.
///
/// Each is nil where there is neither a variable nor a home folder. Nothing takes their place: what lies in a folder that
/// everybody can write, such as /tmp/.config, is not this user's.
struct XDGFolders {
  let config: FilePath?
  let cache: FilePath?
  let state: FilePath?

  /// - Parameter homeByLogin: what the system's list of users says, for services and containers that run without HOME.
  init(_ environment: [String: String], homeByLogin: () -> String? = Self.homeByLogin) {
    func absolute(_ text: String?) -> FilePath? {
      guard let text, FilePath(text).isAbsolute else { return nil }
      return FilePath(text)
    }
    let home = absolute(environment["HOME"]) ?? absolute(homeByLogin())
    func folder(_ variable: String, _ fallback: String) -> FilePath? {
      (absolute(environment[variable]) ?? home?.appending(FilePath(fallback).components))?.appending("dlm")
    }
    config = folder("XDG_CONFIG_HOME", ".config")
    cache = folder("XDG_CACHE_HOME", ".cache")
    state = folder("XDG_STATE_HOME", ".local/state")
  }

  /// What is said, once, of folders that are nowhere.
  var warnings: [String] {
    guard cache == nil || state == nil else { return [] }
    let missing = [cache == nil ? "the cache" : nil, state == nil ? "the memory of its last list" : nil]
    return [
      "dlm: there is no home folder (HOME is not set, and the system knows none for this user), so this run does without "
        + missing.compactMap(\.self).joined(separator: " and ")
        + "; set HOME, or XDG_CACHE_HOME and XDG_STATE_HOME"
    ]
  }

  private static func homeByLogin() -> String? {
    guard let entry = getpwuid(getuid()), let path = entry.pointee.pw_dir else { return nil }
    let home = String(cString: path)
    return home == "/" ? nil : home
  }
}
