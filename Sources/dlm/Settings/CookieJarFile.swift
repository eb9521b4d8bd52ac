import DownloadModel
import ArgumentParser
import FileReceiving
import Glibc
import SystemPackage

/// `--cookie-jar FILE`: cookies in Netscape's format, like curl's. It is written after the run if a cookie has changed,
/// atomically and with permissions for this user alone (0600). Cookies are secrets: no message contains one.
struct CookieJarFile {
  let path: FilePath
  /// The cookies of earlier runs, one a line.
  let lines: [String]
  let isNew: Bool

  /// The largest jar in bytes: the next run rejects a larger one.
  static let largest = 16 << 20
  private static let heading = "# Netscape HTTP Cookie File"

  init(_ path: String) throws {
    self.path = FilePath(path)
    isNew = self.path.fileType == nil
    do { lines = try Self.lines(of: self.path) } catch {
      throw ValidationError("--cookie-jar \(path) cannot be used: \(error.line)")
    }
    // Checked now, so that the message appears before the run and not after it.
    guard access(self.path.folder.string, W_OK | X_OK) == 0 else {
      let cause = String(cString: strerror(errno))
      throw ValidationError(
        "--cookie-jar \(path) cannot be written: its folder: \(cause). Name a file in a folder of yours.")
    }
  }

  /// Writes only this run's changes, because another run may have written meanwhile.
  /// - Parameter now: seconds since 1970.
  /// - Returns: a message if it failed.
  func save(before: [String], after: [String], now: Int64) -> String? {
    if Set(before) == Set(after) { return nil }
    do {
      let lock = try OwnFiles.locked(path.name, in: Folder(standing: path.folder), LOCK_EX)
      defer { lock.unlock() }
      let merged = CookieLines.merged(before: before, after: after, there: try Self.lines(of: path), now: now)
      var draft = try DraftFile(for: path)
      try draft.write(
        ([Self.heading, "# Written by dlm. These are secrets."] + merged).map { $0 + "\n" }.joined().utf8)
      try draft.commit()
      return nil
    } catch {
      let isHeld = error as? Errno == .wouldBlock
      let cause = isHeld ? "another process has it locked" : (error as? Refusal)?.line ?? "\(error)"
      return
        "dlm: the cookies could not be saved in \(path): \(cause); the files are complete; the next run starts with "
        + "the earlier cookies"
    }
  }

  private static func lines(of path: FilePath) throws(Refusal) -> [String] {
    let bytes: [UInt8]
    do {
      // Other users who can write it could choose the account with which dlm logs in.
      bytes = try UserFile.bytes(path.string, upTo: largest, behindLink: false, trustsRoot: false)
    } catch .system(.noSuchFileOrDirectory) {
      return []
    } catch .system(.tooManySymbolicLinkLevels) {
      throw Refusal("it is a link. Name the file itself.")
    } catch { throw Refusal("\(UsageMessages.cause(error)). Name a file of yours.") }
    let text = String(utf8: bytes)
    let lines = CookieLines.cookies(in: text)
    // A file of another kind would be overwritten.
    guard !lines.isEmpty || bytes.isEmpty || text.hasPrefix("# ") && text.contains("HTTP Cookie File") else {
      throw Refusal("it is not a file of cookies in Netscape's format. Name another file.")
    }
    return lines
  }
}
