import DownloadCaching
import DownloadModel
import FileReceiving
import Glibc
import TerminalProgress

/// Lists of the complete files at the end of a run, with their SHA-256 (`--write-checksums`, `--write-list`).
struct FileLists {
  let settings: Settings
  let files = FetchedFiles()

  /// On the cooperative pool, because this time is not measured.
  /// - Parameter isCut: whether the run was interrupted: then, and if this is cancelled, nothing is written.
  /// - Returns: whether all is written; if not, the reason was reported.
  @concurrent
  func write(isCut: Bool) async -> Bool {
    let checksums = settings.checksumFile
    let list = settings.listFile
    var hashes = ""
    var addresses = ""
    var withheld = 0
    var troubles = [String]()
    var digests = FileDigests(activity: "hashing")
    var seen: Set<ByteText> = []
    for file in isCut ? [] : files.all
    where file.outcome.kind != .skipped && seen.insert(ByteText(file.path)).inserted && access(file.path, F_OK) == 0 {
      do {
        let hash = if let hash = known(file) { hash } else { try digests.digest(of: file.path) }
        hashes += Self.checksumLine(hash, file.path)
        if let line = Self.listLine(hash, file) { addresses += line } else { withheld += 1 }
      } catch { troubles.append(FailureMessages(error).said) }
    }
    if isCut || Task.isCancelled {
      let names = [checksums, list].compactMap { $0?.name }.joined(separator: " and ")
      troubles = ["dlm: the run was interrupted: \(names) not written"]
    } else {
      troubles += checksums?.keep(hashes) ?? []
      troubles += list?.keep(addresses) ?? []
      if let list, withheld > 0 {
        StandardError.say("dlm: \(list.name) is without \(Quantity.files(withheld)): signed URLs are secrets")
      }
    }
    StandardError.say(troubles)
    return troubles.isEmpty
  }

  /// A digest that the run has compared need not be computed again.
  private func known(_ file: FetchedFiles.File) -> String? {
    guard file.outcome.proof == .digest else { return nil }
    let digest = file.request.checksum ?? settings.output.cache.receiving.checksums?.digest(of: file.outcome.wantedName)
    return digest?.algorithm == .sha256 ? digest?.hex : nil
  }

  /// In the format of sha256sum(1): a backslash before the line means that the name is escaped.
  static func checksumLine(_ hash: String, _ path: String) -> String {
    let name = escaped(path) { [0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r"][$0] }
    return (name.utf8.count > path.utf8.count ? "\\" : "") + "\(hash)  \(name)\n"
  }

  /// - Returns: `nil` for a signed URL, which is a secret. A login is omitted.
  static func listLine(_ hash: String, _ file: FetchedFiles.File) -> String? {
    let address = file.request.address
    guard address.scheme == .data || address.redacted == address.key else { return nil }
    var options = LineOptions(file.request.key.wishes)
    options.size = file.outcome.size
    options.name = file.outcome.name
    options.checksum = ContentDigest(.sha256, hex: hash)
    options.mirrors = []
    return "\(address.key)\(options.text)\n"
  }

  /// By bytes, because "\r\n" is one `Character`.
  static func escaped(_ text: String, _ mark: (UInt8) -> String?) -> String {
    String(utf8: text.utf8.flatMap { byte in mark(byte).map { Array($0.utf8) } ?? [byte] })
  }
}
