import Synchronization
import DownloadModel
import Glibc
package import SystemPackage

/// A secret of this user that authenticates what dlm wrote: trust marks (`RequestFingerprint`), metadata of parts,
/// store entries. Another user who can write into a folder cannot forge these.
///
/// 32 random bytes in a file that only the user can read. Without that file, the secret lasts as long as this process.
package final class UserSecret: Sendable {
  static let fileName = "scope-key"
  private static let length = 32

  private let folder: FilePath?
  private let state = Lock(State())

  private struct State {
    var key: [UInt8]?
    var failure: Errno?
  }

  /// Does not touch the disk yet. Without a folder, the secret lasts as long as this process.
  package init(in folder: FilePath?) { self.folder = folder }

  static func forThisProcess() -> UserSecret { UserSecret(in: nil) }

  var key: [UInt8] {
    state.withLock { state in
      if let key = state.key { return key }
      var kept: [UInt8]?
      if let folder {
        do throws(Errno) { kept = try Self.kept(in: Folder(own: folder)) } catch { state.failure = error }
      }
      let key = kept ?? Self.random()
      state.key = key
      return key
    }
  }

  package var path: FilePath { (folder ?? "").appending(Self.fileName) }

  /// Why the secret of earlier runs could not be read; returned once.
  package func takeFailure() -> Errno? { state.withLock { $0.failure.take() } }

  /// 128 bits of HMAC-SHA-256 in hexadecimal digits. A tag is valid for one purpose only.
  func tag(_ purpose: String, _ text: [UInt8]) -> String {
    ContentHasher.authenticationCode(of: Array(purpose.utf8) + [0] + text, key: key).prefix(16).hexadecimal
  }

  package func tag(_ purpose: String, _ text: String) -> String { tag(purpose, Array(text.utf8)) }

  /// A file name that only this user's dlm can compute: the stem and a tag of it.
  package func name(_ purpose: String, _ stem: String) -> String { "\(stem)-\(tag(purpose, stem))" }

  /// Such a name, new and of this process.
  package func freshName(_ purpose: String) -> String {
    name(purpose, "\(getpid())-\(String(UInt64.random(in: .min ... .max), radix: 36))")
  }

  package func isName(_ purpose: String, _ name: String) -> Bool {
    guard let dash = name.utf8.lastIndex(of: .dash) else { return false }
    return name == self.name(purpose, String(name[..<dash]))
  }

  // MARK: The file

  private static func random() -> [UInt8] { (0..<length).map { _ in UInt8.random(in: .min ... .max) } }

  /// - Throws: errno of reading or creating it; EPERM if other users can access the file.
  private static func kept(in folder: Folder) throws(Errno) -> [UInt8] {
    if let key = try read(folder) { return key }
    // Another process may have created it first: both must use the same key.
    do { _ = try folder.make(fileName, random()) } catch .fileExists {}
    guard let key = try read(folder) else { throw .noSuchFileOrDirectory }
    return key
  }

  private static func read(_ folder: Folder) throws(Errno) -> [UInt8]? {
    do throws(Errno) {
      let file = try folder.open(fileName, O_RDONLY | O_NONBLOCK)
      // Two names, if a process was killed before it removed its draft's name.
      guard try file.isOwn(closedTo: 0o077, names: 2) else { throw .notPermitted }
      let bytes = try file.read(length + 1)
      guard bytes.count == length else { throw .invalidArgument }
      return bytes
    } catch .noSuchFileOrDirectory {
      return nil
    }
  }
}
