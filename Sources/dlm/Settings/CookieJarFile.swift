import DownloadModel
import ArgumentParser
import FileReceiving
import Glibc
import SystemPackage

/// `--cookie-jar FILE`: cookies in Netscape's format, as curl keeps them. It is written after the run if something has
/// changed, as a whole and for this user alone (0600). Cookies are secrets: no message holds one.
struct CookieJarFile {
  let path: FilePath
  /// The cookies of earlier runs, a line each.
  let lines: [String]
  let isNew: Bool

  /// Bytes that a jar may have: else the next run refuses it.
  static let largest = 16 << 20
  private static let heading = "# Netscape HTTP Cookie File"

  init(_ path: String) throws {
    self.path = FilePath(path)
    isNew = self.path.fileType == nil
    do { lines = try Self.lines(of: self.path) } catch {
      throw ValidationError("--cookie-jar \(path) cannot be used: \(error.text)")
    }
    // Checked now, so that it is said before the run and not after it.
    guard access(self.path.folder.string, W_OK | X_OK) == 0 else {
      let cause = String(cString: strerror(errno))
      throw ValidationError(
        "--cookie-jar \(path) cannot be written: its folder: \(cause). Name a file in a folder of yours.")
    }
  }

  /// Writes only what this run has changed, since another run may have written meanwhile.
  /// - Parameter now: seconds since 1970.
  /// - Returns: the message where it failed.
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
      let cause = isHeld ? "another process has it locked" : (error as? Refusal)?.text ?? "\(error)"
      return
        "dlm: the cookies could not be saved in \(path): \(cause); the files are complete; the next run starts with "
        + "the earlier cookies"
    }
  }

  private struct Refusal: Error { let text: String }

  private static func lines(of path: FilePath) throws(Refusal) -> [String] {
    let bytes: [UInt8]
    do {
      // Other users who can write it could choose as whom dlm logs in.
      bytes = try UserFile.bytes(path.string, upTo: largest, behindLink: false, trustsRoot: false)
    } catch .system(.noSuchFileOrDirectory) {
      return []
    } catch .system(.tooManySymbolicLinkLevels) {
      throw Refusal(text: "it is a link. Name the file itself.")
    } catch { throw Refusal(text: "\(UsageMessages.cause(error)). Name a file of yours.") }
    let text = String(utf8: bytes)
    let lines = CookieLines.cookies(in: text)
    // A file of something else would be overwritten.
    guard !lines.isEmpty || bytes.isEmpty || text.hasPrefix("# ") && text.contains("HTTP Cookie File") else {
      throw Refusal(text: "it is not a file of cookies in Netscape's format. Name another file.")
    }
    return lines
  }
}

/// Cookies in Netscape's format: domain, whether its subdomains get it, path, whether only over TLS, when it ends
/// (seconds since 1970; 0 with the session), name and value, between tabs.
enum CookieLines {
  static func cookies(in text: String) -> [String] {
    text.split(whereSeparator: \.endsLine).map(String.init).filter { fields($0) != nil }
  }

  /// The run's changes, from `before` to `after`, applied to the cookies that are in the file by then.
  static func merged(before: [String], after: [String], there: [String], now: Int64) -> [String] {
    let old = table(before)
    let new = table(after)
    var merged = table(there)
    for (key, line) in new where old[key] != line { merged[key] = line }
    for key in old.keys where new[key] == nil { merged[key] = nil }
    // Of a domain with too many the longest-lived stay, and of a jar that is too large those that the file had before.
    let byEnd = Dictionary(grouping: merged.values) { line in fields(line).flatMap { Int64($0[4]) } ?? 0 }
    let lasting = byEnd.keys.filter { $0 == 0 || $0 > now }.sorted(by: >).flatMap { byEnd[$0] ?? [] }
    let kept = Dictionary(grouping: lasting, by: Trust.cookieDomain).values.flatMap { $0.prefix(mostPerDomain) }
    let earlier = Set(there)
    var room = CookieJarFile.largest - 1024
    return (kept.filter(earlier.contains) + kept.filter { !earlier.contains($0) }).prefix { line in
      room -= line.utf8.count + 1
      return room >= 0
    }.sorted()
  }

  /// libcurl sends no more; RFC 6265 §6.1 wants 50.
  private static let mostPerDomain = 150

  private static func table(_ lines: [String]) -> [String: String] {
    Dictionary(lines.compactMap { line in key(line).map { ($0, line) } }) { $1 }
  }

  /// What makes two lines one cookie: domain, path and name (RFC 6265 §5.3).
  private static func key(_ line: String) -> String? {
    fields(line).map { fields in
      [Trust.cookieDomain(line), fields[1].uppercased(), fields[2], fields[5]].joined(separator: "\t")
    }
  }

  private static func fields(_ line: String) -> [String]? {
    if line.hasPrefix("#"), !line.hasPrefix("#HttpOnly_") { return nil }
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    // A cookie without a value may lack its last field.
    return fields.count == 7 || fields.count == 6 ? fields : nil
  }
}
