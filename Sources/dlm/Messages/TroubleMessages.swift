import Glibc
import SystemPackage

enum TroubleMessages {
  static func temporaryFolder(_ path: String, _ error: Errno) -> String {
    let remedy = path == TemporaryFolder.inMemory ? "leave out --discard" : "name another in TMPDIR"
    return "dlm: the temporary folder \(path) cannot be written: \(error); \(remedy)"
  }

  static func outputLost(_ error: Errno) -> String {
    let remedy = error == .noSpace ? "free space there, or write it elsewhere" : "is its reader still running?"
    return "dlm: standard output cannot be written: \(String(cString: strerror(error.rawValue))); \(remedy)"
  }

  static func notWritten(_ file: OutputFile, _ error: any Error) -> String {
    let remedy =
      (error as? Errno) == .tooManySymbolicLinkLevels
      ? "it is a link; name the file itself" : "choose another place with \(file.option)"
    return "dlm: \(file.name) cannot be written: \(error); \(remedy)"
  }
}
