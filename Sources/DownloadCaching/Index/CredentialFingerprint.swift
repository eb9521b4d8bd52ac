import Crypto
import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// Distinguishes files that were fetched with credentials from those that were not (RFC 9111 §4, HTTP rule
/// 18), without storing the credentials: the scope is a keyed hash, and its key is the user's secret.
struct CredentialFingerprint: Sendable {
  private let key: SymmetricKey

  init(key: SymmetricKey) { self.key = key }

  /// Empty for a request without credentials.
  /// - Parameter more: whatever else identifies the user: header lines, the login of a netrc file; nil for
  ///   nothing.
  func name(of address: Address, more: String?) -> String {
    guard address.hasCredentials || more != nil else { return "" }
    return digest(Array(Self.userInfo(address)) + [0] + Array((more ?? "").utf8))
  }

  /// A keyed hash of a text that may hold a secret.
  func digest(_ secret: [UInt8]) -> String {
    let code = HMAC<SHA256>.authenticationCode(for: secret, using: key)
    // 96 bits are enough to distinguish all logins in the world.
    return code.prefix(12).hexadecimal
  }

  /// `user:password` as written, without the `@`.
  private static func userInfo(_ address: Address) -> Substring.UTF8View {
    let text = address.wireText.utf8
    let start = text.index(text.startIndex, offsetBy: address.scheme.rawValue.utf8.count + 3)
    let length = text.count - address.key.utf8.count
    return address.wireText[start..<text.index(start, offsetBy: length)].utf8
  }
}

/// What in this run's requests, beside the address, can select or unlock an answer (HTTP rules 18, 29 and
/// 30), as keyed hashes. Isolated state of one cache actor, which computes each hash once.
final class RequestFingerprint {
  private let configuration: CacheConfiguration
  private let secret: UserSecret
  private let runNumber: UInt64
  /// `RequestFields.key`, computed once.
  private let keyedFields: String?
  private var fingerprint: CredentialFingerprint?
  /// The selection for each `Vary` text: most servers send the same text in each answer.
  private var selections: [String: String?] = [:]

  /// - Parameter runNumber: identifies this run.
  init(_ configuration: CacheConfiguration, _ secret: UserSecret, runNumber: UInt64) {
    self.configuration = configuration
    self.secret = secret
    self.runNumber = runNumber
    keyedFields = configuration.fields.key
  }

  /// A hash of everything in a request that can select or unlock its answer, beside the address.
  func scope(of address: Address) -> String {
    let login = configuration.logins?.login(for: address.host)
    guard address.hasCredentials || keyedFields != nil || login != nil else { return "" }
    let more = login.map { (keyedFields ?? "") + "\0" + $0 } ?? keyedFields
    return credentials().name(of: address, more: more)
  }

  private func credentials() -> CredentialFingerprint {
    if let fingerprint { return fingerprint }
    let made = CredentialFingerprint(key: secret.key)
    fingerprint = made
    return made
  }

  /// A hash of what an answer depends on beside the scope: the values of the fields that its `Vary` names
  /// (HTTP rule 29), and, where redirects led to it over other hosts, all logins, since any of them may have
  /// been sent.
  ///
  /// Only the transport knows the cookies that servers set, and they differ in each run. So the selection of
  /// an answer that varies by cookies is the same within a run and matches in no later one.
  private func selection(vary: String?, effectiveURL: String?) -> String? {
    if let vary, configuration.holdsCookies(), RequestFields.isCookies(vary: vary) {
      return credentials().digest(Array("cookies of run \(runNumber)".utf8))
    }
    guard let logins = effectiveURL == nil ? nil : configuration.logins?.all else {
      guard let vary else { return nil }
      if let known = selections[vary] { return known }
      let made = configuration.fields.values(namedBy: vary).map { credentials().digest(Array($0.utf8)) }
      if selections.count < 64 { selections[vary] = .some(made) }
      return made
    }
    let values = vary.flatMap { configuration.fields.values(namedBy: $0) } ?? ""
    return credentials().digest(Array((values + "\0" + logins).utf8))
  }

  /// Whether a row's file was the answer to a request like those of this run.
  func selects(_ row: CacheRow) -> Bool {
    guard row.freshness.vary.map({ RequestFields.isAny(vary: $0) }) != true else { return false }
    return row.selection == selection(vary: row.freshness.vary, effectiveURL: row.effectiveURL)
  }

  /// The row, with the selection of this run's request that fetched the file.
  func selected(_ row: CacheRow) -> CacheRow {
    guard row.freshness.vary != nil || row.effectiveURL != nil else { return row }
    var row = row
    row.selection = selection(vary: row.freshness.vary, effectiveURL: row.effectiveURL)
    return row
  }
}

/// A secret of this user, by which dlm recognises what it wrote: scopes of credentials
/// (`CredentialFingerprint`), metadata of parts, journals. Another user who can write into a folder cannot
/// make one that dlm would accept.
///
/// 32 random bytes in a file that only the user can read, in the folder that the run names. It is read when
/// first needed, and made where it is missing. Where it can be neither read nor made, the secret lasts as
/// long as this process, and later runs do not recognise what this run leaves.
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
  /// - Parameter folder: where it is kept; nil for a secret that lasts as long as this process.
  init(in folder: FilePath?) { self.folder = folder }

  static func forThisProcess() -> UserSecret { UserSecret(in: nil) }

  var key: SymmetricKey {
    state.withLock { state in
      if let key = state.key { return key }
      var key = SymmetricKey(size: .bits256)
      if let folder {
        do throws(Errno) { key = try Self.kept(in: Folder(own: folder), orElse: key) } catch {
          state.failure = error
        }
      }
      state.key = key
      return key
    }
  }

  /// Why the secret of earlier runs could not be read; told once.
  func takeFailure() -> Errno? {
    state.withLock { state in
      defer { state.failure = nil }
      return state.failure
    }
  }

  /// The same, as a warning for the user.
  func takeWarning() -> CacheWarning? {
    takeFailure().map {
      CacheWarning(
        .unusable, path: (folder ?? "").appending(Self.fileName), detail: CacheWarning.words($0))
    }
  }

  /// Authenticates a text: 128 bits of a keyed hash (HMAC-SHA-256), as hexadecimal digits.
  /// - Parameter purpose: separates kinds of text, so that a tag for one kind does not hold for another.
  func tag(_ purpose: String, _ text: [UInt8]) -> String {
    let code = HMAC<SHA256>.authenticationCode(for: Array(purpose.utf8) + [0] + text, using: key)
    return code.prefix(16).hexadecimal
  }

  func tag(_ purpose: String, _ text: String) -> String { tag(purpose, Array(text.utf8)) }

  // MARK: The file

  /// - Throws: errno of reading or making it; EPERM when the file is not private to this user.
  private static func kept(in folder: Folder, orElse made: SymmetricKey) throws(Errno) -> SymmetricKey {
    if let key = try read(folder) { return key }
    try write(made.withUnsafeBytes { Array($0) }, into: folder)
    // Another process may have been faster. Its key is as good, and both processes must use the same one.
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

  /// The file gets its name only when it is whole. If dlm is killed in between, nothing remains where the
  /// file system supports files without a name.
  private static func write(_ bytes: [UInt8], into folder: Folder) throws(Errno) {
    var offset: Int64 = 0
    do throws(Errno) {
      if let route = folder.routeForUnnamedFiles() {
        let file = try folder.openUnnamed(mode: 0o600)
        try file.write(bytes, at: &offset)
        try file.sync()
        return try folder.link(file, as: fileName, route)
      }
      let draft = "\(fileName).\(SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }.hexadecimal)"
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
