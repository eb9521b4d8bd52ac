import Glibc
import SystemPackage

/// Where dlm keeps things of its own (XDG Base Directory Specification): a relative value counts as unset.
struct XDGFolders {
  let config: FilePath
  let cache: FilePath
  let state: FilePath

  init(_ environment: [String: String]) {
    let home = FilePath(environment["HOME"] ?? Self.homeByLogin ?? "/tmp")
    func folder(_ variable: String, _ fallback: String) -> FilePath {
      let path = FilePath(environment[variable] ?? "")
      return (path.isAbsolute ? path : home.appending(FilePath(fallback).components)).appending("dlm")
    }
    config = folder("XDG_CONFIG_HOME", ".config")
    cache = folder("XDG_CACHE_HOME", ".cache")
    state = folder("XDG_STATE_HOME", ".local/state")
  }

  /// What the system's list of users says, for services and containers that run without HOME.
  private static var homeByLogin: String? {
    guard let entry = getpwuid(getuid()), let path = entry.pointee.pw_dir else { return nil }
    let home = String(cString: path)
    return home.isEmpty || home == "/" ? nil : home
  }
}
