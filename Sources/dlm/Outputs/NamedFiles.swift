import ArgumentParser
import Glibc
import SystemPackage

/// Checks the files that a command names: no output is also an input, or is the same file as another output.
enum NamedFiles {
  /// Messages use its name: `--failed again.txt`. The file is identified by device and inode, or by those of its folder
  /// and its name if it does not exist yet.
  private typealias Place = (name: String, path: String, file: String)

  /// To be called before any file is opened for writing.
  static func check(_ command: GetCommand, _ lists: [Source], _ environment: [String: String]) throws {
    let written = places(.written, command)
    if written.isEmpty { return }
    let settings = [SettingsSources.folderPath, SettingsSources.ownPath(environment)].compactMap(\.self)
    let read =
      lists.compactMap { source in
        switch source {
        case .list(let path): place("the list \(path)", path)
        case .standardInput: place("standard input", "/dev/stdin")
        case .address, .listAt: nil
        }
      } + settings.compactMap { place("the settings file \($0)", $0.string) }
      + places(.read, command)
    for (index, output) in written.enumerated() {
      if let input = read.first(where: { $0.file == output.file }) {
        throw ValidationError(
          "\(output.name) would overwrite what is read: \(input.name) is the same file. Name another.")
      }
      // Descriptors that the caller has opened may be one stream.
      if let other = written[..<index].first(where: { $0.file == output.file }),
        [other, output].contains(where: { OutputFile.descriptor($0.path) == nil })
      {
        throw ValidationError("\(other.name) and \(output.name) are one file: name two.")
      }
    }
  }

  private static func places(_ use: OptionTable.FileUse, _ command: GetCommand) -> [Place] {
    return command.rows.filter { $0.file == use }.flatMap { row in
      row.texts(command).compactMap { text in
        if row.kind == .headers, !HeaderArgument(argument: text).isFile { return nil }
        let path = row.kind == .headers ? String(text.dropFirst()) : text
        return place("\(row.spelled) \(path)", use == .written ? OutputFile.path(path) : path)
      }
    }
  }

  /// - Returns: `nil` for a device, because any number of outputs may go to one.
  private static func place(_ name: String, _ path: String) -> Place? {
    var status = stat()
    // In `new/../file`, the folder may be created before the file is written.
    let normal = FilePath(path).lexicallyNormalized()
    var newName = ""
    if stat(path, &status) == 0 || stat(normal.string, &status) == 0 {
      guard [S_IFREG, S_IFIFO].contains(status.st_mode & S_IFMT) else { return nil }
    } else {
      guard stat(normal.folder.string, &status) == 0 else { return nil }
      newName = normal.name
    }
    return (name, path, "\(status.st_dev) \(status.st_ino) \(newName)")
  }
}
