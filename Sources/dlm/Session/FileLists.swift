import DownloadCaching
import DownloadModel
import FileReceiving
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Lists of the complete files at the end of a run, with their SHA-256 (`--write-checksums`, `--write-list`).
struct FileLists {
  let settings: Settings
  let files = FetchedFiles()

  /// On the cooperative pool, as this time is not measured.
  /// - Parameter isCut: whether the run was interrupted: then, and if this is cancelled, nothing is written.
  /// - Returns: whether all is written; else it has said why not.
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

  /// What the run has compared need not be read again.
  private func known(_ file: FetchedFiles.File) -> String? {
    guard file.outcome.proof == .digest else { return nil }
    let digest = file.request.checksum ?? settings.output.cache.checksums?.digest(of: file.outcome.wantedName)
    return digest?.algorithm == .sha256 ? digest?.hex : nil
  }

  /// As sha256sum(1) writes it: a backslash before the line says that the name is escaped.
  static func checksumLine(_ hash: String, _ path: String) -> String {
    let name = escaped(path) { [0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r"][$0] }
    return (name.utf8.count > path.utf8.count ? "\\" : "") + "\(hash)  \(name)\n"
  }

  /// - Returns: nil for an address that is signed, which is a secret. Its login, if it has one, is left out.
  static func listLine(_ hash: String, _ file: FetchedFiles.File) -> String? {
    let address = file.request.address
    let provenance = file.request.provenance
    guard address.scheme == .data || address.redacted == address.key else { return nil }
    let options = LineOptions(
      size: file.outcome.size, provenance: provenance == .user ? nil : provenance, name: file.outcome.name,
      folder: file.request.folder, checksum: ContentDigest(.sha256, hex: hash),
      expectedTypes: file.request.expectedTypes)
    return "\(address.key)\(options.text)\n"
  }

  /// By bytes, as "\r\n" is one `Character`.
  static func escaped(_ text: String, _ mark: (UInt8) -> String?) -> String {
    String(utf8: text.utf8.flatMap { byte in mark(byte).map { Array($0.utf8) } ?? [byte] })
  }
}

/// A list that `dlm get` can read again in the same folder: URLs under comments that give the cause.
enum FailedList {
  /// The folder of `--directory`, as far as `directory=` of a line can name it; nil for none.
  static func folder(_ directory: String) -> String? {
    directory != "." && FileNaming.isUsablePath(directory) ? directory : nil
  }

  static func text(_ report: RunReport, in directory: String) -> String {
    var lines: [String] = []
    if report.failures.isEmpty, report.rejections.isEmpty { lines.append("# nothing failed") }
    lines += report.rejections.map { "# " + TerminalText.sanitized(RejectionMessages($0).line) }
    for group in FailureMessages.groups(of: report.failures) {
      lines.append("# " + TerminalText.sanitized(group.messages.heading))
      lines += group.errors.map { line($0, in: directory) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A failure without a URL concerns a folder or file: there is nothing to download again.
  static func line(_ error: DownloadError, in directory: String) -> String {
    guard let address = error.address else { return "# " + TerminalText.sanitized(error.path ?? "") }
    var options = error.wishes.map(LineOptions.init) ?? LineOptions()
    options.directory = folder(directory)
    return address + options.text
  }
}

/// Failures in a file without a name, since a list may have millions.
final class FailureSpool: Sendable {
  private let state: Lock<State>

  private let directory: String

  private struct State {
    let file: FileDescriptor
    var heading = ""
    var failure: Errno?
  }

  init(in folder: String, of directory: String) throws(Errno) {
    self.directory = directory
    state = Lock(State(file: try TemporaryFolder.unnamedFile(in: folder, "failed")))
  }

  deinit { state.withLock { try? $0.file.close() } }  // it is read no more

  /// Adds the address, under a comment where the cause is another than before.
  func add(_ error: DownloadError) {
    let heading = TerminalText.sanitized(FailureMessages(error).heading)
    let line = FailedList.line(error, in: directory) + "\n"
    state.withLock { state in
      let text = heading == state.heading ? line : "# \(heading)\n\(line)"
      state.heading = heading
      do throws(Errno) { try state.file.writeWhole(text.utf8) } catch { state.failure = error }
    }
  }

  /// - Throws: Errno of either file, also of earlier writes.
  func copy(to target: FileDescriptor) throws {
    try state.withLock { state in
      if let failure = state.failure { throw failure }
      try state.file.seek(offset: 0, from: .start)
      while case let block = try state.file.block(), !block.isEmpty { try target.writeWhole(block) }
      try state.file.seek(offset: 0, from: .end)
    }
  }
}
