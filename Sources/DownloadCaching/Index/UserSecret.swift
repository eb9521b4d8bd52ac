import Crypto
import Glibc
import Synchronization
import SystemPackage

/// A secret of this user, by which dlm knows its own again: files of credentials (`CredentialScope`), records of parts,
/// journals. Whoever else may write into a folder cannot make one that passes for dlm's.
///
/// 32 random bytes in the cache folder, readable by the user alone, read when first needed and made where there are none.
/// Where they can be neither read nor made, a secret of this process serves: what it leaves then is nobody's to the next.
final class UserSecret: Sendable {
  static let fileName = "scope-key"
  private static let length = 32

  private let folder: FilePath?
  private let state = Mutex(State())

  private struct State {
    var key: SymmetricKey?
    var failure: Errno?
  }

  /// Touches nothing on disk yet.
  /// - Parameter folder: where it is kept; nil for a secret of this process.
  init(in folder: FilePath?) { self.folder = folder }

  static func forThisProcess() -> UserSecret { UserSecret(in: nil) }

  var key: SymmetricKey {
    state.withLock { state in
      if let key = state.key { return key }
      var key = SymmetricKey(size: .bits256)
      if let folder {
        do throws(Errno) { key = try Self.kept(in: Folder(folder, mode: 0o700), orElse: key) } catch {
          state.failure = error
        }
      }
      state.key = key
      return key
    }
  }

  /// Why the secret of earlier runs could not be had, said once.
  func takeFailure() -> Errno? {
    state.withLock { state in
      defer { state.failure = nil }
      return state.failure
    }
  }

  /// What only this user's dlm can say of a text: 128 bits of a keyed hash (HMAC-SHA-256), as hexadecimal digits.
  /// - Parameter purpose: so that what was said of one kind of text does not hold for another.
  func tag(_ purpose: String, _ text: [UInt8]) -> String {
    let code = HMAC<SHA256>.authenticationCode(for: Array(purpose.utf8) + [0] + text, using: key)
    return Self.hexadecimal(code.prefix(16))
  }

  func tag(_ purpose: String, _ text: String) -> String { tag(purpose, Array(text.utf8)) }

  static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  // MARK: The file

  /// - Throws: errno of reading or making it; EPERM when what stands there is not this user's alone.
  private static func kept(in folder: Folder, orElse made: SymmetricKey) throws(Errno) -> SymmetricKey {
    if let key = try read(folder) { return key }
    try write(made.withUnsafeBytes { Array($0) }, into: folder)
    // Another process may have been faster; its key is as good, and both must use the same one.
    guard let key = try read(folder) else { throw .noSuchFileOrDirectory }
    return key
  }

  private static func read(_ folder: Folder) throws(Errno) -> SymmetricKey? {
    do throws(Errno) {
      let file = try folder.open(fileName, O_RDONLY | O_NONBLOCK)
      guard try file.isOwn(closedTo: 0o077) else { throw .notPermitted }
      let bytes = try file.read(length + 1)
      guard bytes.count == length else { throw .invalidArgument }
      return SymmetricKey(data: bytes)
    } catch .noSuchFileOrDirectory {
      return nil
    }
  }

  /// Under its name only when it is whole. Killed in between, nothing of it stays where the file system knows files
  /// without a name.
  private static func write(_ bytes: [UInt8], into folder: Folder) throws(Errno) {
    var offset: Int64 = 0
    do throws(Errno) {
      if let route = folder.routeForUnnamedFiles() {
        let file = try folder.openUnnamed(mode: 0o600)
        try file.write(bytes, at: &offset)
        try file.sync()
        return try folder.link(file, as: fileName, route)
      }
      let draft = "\(fileName).\(hexadecimal(SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }))"
      let file = try folder.open(draft, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      do throws(Errno) {
        try file.write(bytes, at: &offset)
        try file.sync()
        try folder.rename(draft, toFree: fileName)
      } catch {
        try folder.remove(draft)
        throw error
      }
    } catch .fileExists {
      return
    }
  }
}
