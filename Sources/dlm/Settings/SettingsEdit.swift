import ArgumentParser
import FileReceiving
import FoundationEssentials
import SystemPackage

/// Changes the user's own settings file. Other lines, comments and their order stay.
enum SettingsEdit {
  /// - Parameter values: one a line; empty removes the setting.
  /// - Returns: a message: the file, the new value and the old one.
  /// - Throws: `Refusal`, or `ValidationError` for a value that a run would reject. The file is then unchanged.
  static func set(_ name: String, to values: [String]) throws -> String {
    let folders = XDGFolders()
    guard let named = folders.config?.appending("dlm.conf") else {
      throw Refusal(folders.configWarning ?? "dlm: there is no home folder for dlm.conf; set XDG_CONFIG_HOME")
    }
    // The target of a link, so that a dotfile manager's link stays.
    let path = RunMemory.canonical(named.string).map { FilePath($0) } ?? named
    let bytes =
      try path.fileType == nil
      ? [] : UserFile.usable(path.string, upTo: SettingsFile.longest) { "\(path) cannot be changed: \($0)" }
    var lines = String(decoding: bytes, as: UTF8.self)
      .split(omittingEmptySubsequences: false, whereSeparator: \.endsLine).map { String($0) }
    if lines.last == "" { lines.removeLast() }
    // Lines after [host] apply to that host.
    var head = lines.prefix { !SettingsFile.trimmed($0[...]).hasPrefix("[") }
    let old = head.filter { SettingsFile.setting($0)?.name == name }
    let place = head.firstIndex { old.contains($0) } ?? (head.lastIndex { $0.contains("=") } ?? head.count - 1) + 1
    let tail = lines.dropFirst(head.count)
    head.removeAll { old.contains($0) }
    head.insert(contentsOf: values.map { "\(name) = \($0)" }, at: place)
    try write((head + tail).map { $0 + "\n" }.joined(), to: path, isChecked: !values.isEmpty)
    let before = old.compactMap { SettingsFile.setting($0)?.value }.joined(separator: "\n")
    let was = old.isEmpty ? "was not set" : "was \(SettingInForce.shown(before, of: name))"
    let now = SettingInForce.shown(values.joined(separator: "\n"), of: name)
    return "\(path): \(name) \(values.isEmpty ? "unset" : "= \(now)") (\(was))"
  }

  private static func write(_ text: String, to path: FilePath, isChecked: Bool) throws {
    if isChecked {
      let file = try SettingsFile(text, at: "the new dlm.conf", say: { _ in })
      let environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("DLM_") }
      _ = try Settings(.parse([]), [], SettingsSources(environment: environment, files: [file]))
    }
    // A failure here also fails the draft, which reports it.
    if path.folder.fileType == nil { _ = try? Folder(own: path.folder) }
    let troubles = OutputFile(path, option: "XDG_CONFIG_HOME").keep(text)
    if let trouble = troubles.first { throw Refusal(trouble) }
  }
}
