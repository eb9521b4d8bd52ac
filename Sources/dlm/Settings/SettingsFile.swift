import DownloadModel
import ArgumentParser
import FileReceiving
import Glibc
import SystemPackage

/// A settings file, with the decision which of its settings count (HTTP rule 45). A line is `name = value`, with an
/// option's name, or a comment that starts with `#`. After `[host]` a value applies to that host, like `host=value`.
/// The values of options that may be repeated add up; of the others, the last one counts.
struct SettingsFile {
  enum Place {
    /// `./.dlm.conf`: another user may have written it, so it may choose how dlm works, but not which servers dlm
    /// trusts or where it writes, and it may not loosen the user's own limits.
    case workingFolder
    /// `$XDG_CONFIG_HOME/dlm/dlm.conf`.
    case ownFolder
  }

  static let longest = 64 * 1024

  private let path: FilePath
  /// By name, with the numbers of their lines, from 1.
  private var settings: [String: (text: String, line: Int)] = [:]
  private var uncounted: Set<String> = []
  /// The prefix of each value in the current section: `host=`.
  private var section = ""

  /// - Returns: `nil` for a missing file, or if it cannot be trusted.
  /// - Throws: `ValidationError` naming a file that cannot be read, or an invalid line.
  init?(at path: FilePath, _ place: Place, besides own: SettingsFile? = nil, say: ([String]) -> Void) throws {
    guard StandingFile.of(path: path.string) != nil, let bytes = try Self.bytes(of: path, place, say: say)
    else { return nil }
    try self.init(String(utf8: bytes), at: path, say: say)
    if place == .workingFolder { leaveOut(besides: own, say) }
  }

  init(_ text: String, at path: FilePath, say: ([String]) -> Void) throws {
    self.path = path
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.endsLine)
    for (index, line) in lines.enumerated() {
      let text = Self.trimmed(line)
      if !text.isEmpty, !text.hasPrefix("#") { try read(text, at: index + 1, say) }
    }
  }

  /// - Returns: `nil` for a line without `=`.
  static func setting(_ line: some StringProtocol) -> (name: String, value: String)? {
    let (name, value) = Substring(line).halves(at: "=")
    return value.map { (String(trimmed(name)), String(trimmed($0))) }
  }

  private mutating func read(_ text: Substring, at line: Int, _ say: ([String]) -> Void) throws {
    let place = "\(path):\(line)"
    if text.first == "[", text.last == "]" {
      return section = Self.trimmed(text.dropFirst().dropLast()) + "="
    }
    guard let (name, value) = Self.setting(text) else {
      throw ValidationError("\(place): this is not a setting; write name = value, or # before a comment.")
    }
    guard OptionTable.settingKeys.contains(name) else {
      let meant = NearestWord.to(name, among: OptionTable.settingKeys.sorted()).map { "; did you mean \($0)?" }
      return say(["dlm: \(place): \(name) is not a setting, and is ignored\(meant ?? "")"])
    }
    if !section.isEmpty, !["limit-rate", "rate", "retry-on"].contains(name) {
      return say(["dlm: \(place): \(name) is no setting of a single host, and is ignored; move it to the file's start"])
    }
    if value.isEmpty {
      throw ValidationError("\(place): \(name) has no value; write one after the =, or # before the line.")
    }
    if let before = settings[name], OptionTable.repeated.contains(name) {
      settings[name] = (before.text + "\n" + section + value, before.line)
    } else {
      settings[name] = (section + value, line)
    }
  }

  static func trimmed(_ text: Substring) -> Substring {
    text.trimmed { " \t\u{FEFF}".contains($0) }
  }

  func found(_ name: String) -> (text: String, origin: SettingOrigin)? {
    guard !uncounted.contains(name), let (text, line) = settings[name] else { return nil }
    return (text, SettingOrigin(kind: "file", place: path.string, line: line))
  }

  /// Finds the settings that do not count in a working folder. Without a message for a value that applies anyway.
  private mutating func leaveOut(besides own: SettingsFile?, _ say: ([String]) -> Void) {
    for row in OptionTable.rows {
      guard let (value, line) = settings[row.name] else { continue }
      let place = "\(path):\(line): \(row.name)"
      if !row.setting.holds(value, besides: own?.demand(row.name)) {
        if !Self.saysNothing(row.name, value) { say(["dlm: \(place)\(Self.uncounted(row, value))"]) }
      } else if row.file != nil, let type = FilePath(value).fileType, type != S_IFREG {
        // It may never end, or wait forever for a writer.
        say(["dlm: \(place): \(value) is ignored, as it is not a regular file; name one"])
      } else {
        continue
      }
      uncounted.insert(row.name)
    }
  }

  private static func uncounted(_ row: OptionTable.Row, _ value: String) -> String {
    let why =
      switch row.setting {
      case .nowhere, .byOwner: " is ignored in a working folder for safety"
      case .keeping: ": \(value) is ignored in a working folder for safety"
      default: ": \(value) is ignored: a working folder may only be stricter than your own dlm.conf"
      }
    return "\(why); set it in ~/.config/dlm/dlm.conf, in \(SettingsSources.variable(row.name)), or with \(row.spelled)"
  }

  /// The user's own value of a setting. A user who requires that checksums prove files also chooses the checksums: a
  /// folder's list would prove any file that arrived with it.
  private func demand(_ key: String) -> String? {
    let isProof = key == "checksums" && found("require-proof").flatMap { Proof(argument: $0.text) } == .digest
    return found(key)?.text ?? (isProof ? "" : nil)
  }

  private static func saysNothing(_ key: String, _ value: String) -> Bool {
    switch key {
    case "insecure", "tlsv1.2", "tlsv1.3", "watch": YesOrNo(argument: value)?.isOn == false
    case "directory": value == "."
    default: false
    }
  }

  private static func bytes(of path: FilePath, _ place: Place, say: ([String]) -> Void) throws -> [UInt8]? {
    do {
      // In the user's own folder a link is a dotfile manager's; its target is checked like any file.
      return try UserFile.bytes(path.string, upTo: longest, behindLink: place == .ownFolder)
    } catch .system(.noSuchFileOrDirectory), .system(.notDirectory) {
      return nil
    } catch .system(.permissionDenied) where access(path.string, F_OK) != 0 {
      return nil  // In another user's folder.
    } catch .system(.tooManySymbolicLinkLevels) {
      say(["dlm: \(path) is a link and is not read; put the file itself there"])
      return nil
    } catch .distrusted(let why) {
      say(["dlm: \(path) is not read: \(UsageMessages.cause(why))"])
      return nil
    } catch {
      let cause = UsageMessages.cause(error)
      throw ValidationError("The settings file \(path) cannot be read: \(cause). Fix or remove it.")
    }
  }
}
