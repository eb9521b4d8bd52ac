import ArgumentParser
import Glibc
import SystemPackage

/// The files that a command names: none is written that is read too, or is another that is written.
enum NamedFiles {
  /// A place where a file is named, as messages call it: `--failed again.txt`.
  private typealias Place = (name: String, path: String, file: FileIdentity)

  /// To be called before anything is opened for writing.
  /// - Throws: `ValidationError` naming both places of a file.
  static func check(_ command: GetCommand, _ lists: [Source], _ sources: SettingsSources) throws {
    let written = places(.written, command, sources)
    if written.isEmpty { return }
    let settings = [SettingsSources.folderPath, SettingsSources.ownPath(sources.environment)].compactMap(
      \.self)
    let read =
      lists.compactMap { source in
        switch source {
        case .list(let path): place("the list \(path)", path)
        case .standardInput: place("standard input", "/dev/stdin")
        case .address, .listAt: nil
        }
      } + settings.compactMap { place("the settings file \($0)", $0.string) }
      + places(.read, command, sources)
    for (index, output) in written.enumerated() {
      if let input = read.first(where: { $0.file == output.file }) {
        throw ValidationError(UsageMessages.writesInput(output.name, input.name))
      }
      // Streams that the caller has opened may be one.
      if let other = written[..<index].first(where: { $0.file == output.file }),
        [other, output].contains(where: { OutputFile.descriptor($0.path) == nil })
      {
        throw ValidationError(UsageMessages.oneOutput(other.name, output.name))
      }
    }
  }

  /// The same for a command that measures.
  static func check(
    measuring connection: ConnectionOptions, _ display: DisplayOptions, _ lists: [Source],
    _ sources: SettingsSources
  ) throws {
    var command = try GetCommand.parse([])
    (command.connection, command.display) = (connection, display)
    try check(command, lists, sources)
  }

  /// Those of the options, and of the settings of those that are not given.
  private static func places(
    _ use: OptionTable.FileUse, _ command: GetCommand, _ sources: SettingsSources
  ) -> [Place] {
    OptionTable.rows.filter { $0.file == use }.flatMap { row -> [Place] in
      var paths: [String] = []
      if case .headers(let given) = row.given(in: command) {
        let headers = given.isEmpty ? HeaderArgument.list(sources.text(row.name) ?? "") : given
        paths = headers.filter(\.isFile).map { String($0.text.dropFirst()) }
      } else if case .value(let given) = row.given(in: command), let path = given ?? sources.text(row.name) {
        paths = [path]
      }
      return paths.compactMap {
        place("\(row.spelled) \($0)", use == .written ? OutputFile.path($0) : $0)
      }
    }
  }

  /// - Returns: nil for what is no file of its own.
  private static func place(_ name: String, _ path: String) -> Place? {
    FileIdentity(path).map { (name, path, $0) }
  }
}

/// What makes two paths one file, through links and for hard links too; of a file that is not there yet, its
/// folder and name. Devices have none, as any number may write them.
private struct FileIdentity: Equatable {
  private let device: dev_t
  private let inode: ino_t
  private var name: String?

  init?(_ path: String) {
    var status = stat()
    // A folder on the way that is not there yet may be by the time of writing.
    let normal = FilePath(path).lexicallyNormalized()
    if stat(path, &status) == 0 || stat(normal.string, &status) == 0 {
      guard [S_IFREG, S_IFIFO].contains(status.st_mode & S_IFMT) else { return nil }
    } else {
      let folder = normal.removingLastComponent()
      guard stat(folder.isEmpty ? "." : folder.string, &status) == 0 else { return nil }
      name = normal.lastComponent?.string
    }
    (device, inode) = (status.st_dev, status.st_ino)
  }
}
