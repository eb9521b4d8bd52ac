import DownloadModel
import FileReceiving
import Synchronization
import SystemPackage

/// Files whose names the user left undecided (`--ask-names`): the next run in the same folder asks about them again.
final class UnnamedFiles: Sendable {
  private let file: FilePath?
  private let paths: Lock<Set<ByteText>>

  /// - Parameter file: `nil` if nothing is asked or remembered.
  init(_ file: FilePath?) {
    self.file = file
    let bytes = file.map { OwnFiles.bytes(of: $0, upTo: 1 << 20) } ?? []
    paths = Lock(Set(bytes.split(separator: 0).map { ByteText(String(utf8: $0)) }))
  }

  func contains(_ path: String) -> Bool { paths.withLock { $0.contains(ByteText(path)) } }

  func note(_ path: String, isLeft: Bool) {
    paths.withLock { _ = isLeft ? $0.insert(ByteText(path)).memberAfterInsert : $0.remove(ByteText(path)) }
  }

  /// Fails silently: then the next run asks fewer questions.
  func keep() {
    guard let file, (try? Folder(own: file.removingLastComponent())) != nil else { return }
    let text = paths.withLock { $0.sorted() }.map(\.text).joined(separator: "\0")
    _ = OutputFile(file, option: "--ask-names").keep(text)
  }
}
