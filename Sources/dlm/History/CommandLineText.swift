import DownloadModel

enum CommandLineText {
  static func quoted(_ path: String, from folder: String) -> String {
    let here = folder.hasSuffix("/") ? folder : folder + "/"
    return quoted(path.hasPrefix(here) ? String(path.dropFirst(here.count)) : path)
  }

  static func quoted(_ argument: String) -> String {
    let isPlain = argument.utf8.allSatisfy { $0.isLetterOrDigit || "-_./:=,+%@".utf8.contains($0) }
    if isPlain, !argument.isEmpty { return argument }
    return "'" + argument.replacing("'", with: "'\\''") + "'"
  }
}
