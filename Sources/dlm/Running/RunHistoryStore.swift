import Crypto
import Foundation
import Glibc
import SystemPackage

/// Keeps a history for each folder, in a file named for it: the user's alone, since addresses may be signed.
struct RunHistoryStore {
  let folder: String
  /// Nil where there is no folder for it: then nothing is remembered.
  private let file: FilePath?

  /// - Parameters:
  ///   - state: `$XDG_STATE_HOME/dlm`.
  ///   - folder: the working directory, absolute.
  init(state: FilePath?, folder: String) {
    self.folder = folder
    let name = SHA256.hash(data: Array(folder.utf8)).prefix(8).map { String($0, radix: 36) }.joined()
    file = state?.appending("runs").appending(FilePath(name + ".json").components)
  }

  /// Where a list from standard input is kept for the same folder.
  var spoolPath: FilePath? { file.map { FilePath($0.string.dropLast(5) + ".list") } }

  /// Nil when there is none, or when a later version wrote it in a form of its own.
  func load() -> RunHistory? {
    guard let file, let data = FileManager.default.contents(atPath: file.string) else { return nil }
    return try? JSONDecoder().decode(RunHistory.self, from: data)
  }

  /// Beside it and renamed, so that a reader finds the old one or the new.
  /// - Throws: Errno, or what the encoder throws.
  func save(_ history: RunHistory) throws {
    guard let file else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data = try encoder.encode(history)
    try PrivateFolder.make(file.removingLastComponent())
    var draft = try DraftFile(for: file)
    try draft.write(data)
    try draft.commit()
  }

  /// - Throws: Errno.
  func remove() throws {
    guard let file else { return }
    guard unlink(file.string) == 0 || errno == ENOENT else { throw Errno(rawValue: errno) }
  }
}
