import ArgumentParser
import DownloadCaching
import Glibc
import SystemPackage

struct RenameCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Rename a downloaded file, and remember it.",
    discussion: """
      EXAMPLE
        dlm rename photos/IMG_2041.jpg harbour.jpg

      The file stays in its folder. Later runs know it under its new name, and do not download it again. An existing \
      file is never replaced.
      """)

  @Argument(help: .value("file", "A downloaded file."), completion: .file()) var file: String
  @Argument(help: .value("name", "Its new name, without a folder.")) var name: String

  func run() async throws {
    guard access(file, F_OK) == 0 else {
      throw Refusal("dlm: \(file): \(Errno(rawValue: errno)); name a downloaded file (dlm cache list)", .failed)
    }
    let path = FilePath(RunMemory.canonical(".") ?? "").pushing(FilePath(file))
    let isKnown = try await CacheAtHand.use { [name] cache in try await cache.rename(path, to: name) }
    if !isKnown {
      StandardError.say("dlm: \(file) is not in the cache: a later run may download it again")
    }
  }
}
