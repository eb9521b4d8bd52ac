import CCurl
import DownloadModel
import Glibc
import Synchronization

/// The user's side of connections over SSH, shared by all transports of a run: the login, and the servers' keys that
/// the user accepts. Its files are read at the first such connection.
package final class SSHUser: Sendable {
  package struct Files: Sendable {
    /// CURLOPT_SSH_PRIVATE_KEYFILE; `nil` for an agent's keys alone.
    package var key: String?
    /// The name to log in by, where neither the URL nor a file of logins gives one.
    package var name: String?
    /// The text of all known_hosts files.
    package var knownHosts = ""

    package init() {}
  }

  private struct State {
    var files: Files?
    var known = KnownHosts("")
    /// By host and port: a file in memory, with the line of a known key.
    var lines: [String: Int32] = [:]

    mutating func read(_ read: () -> Files) -> Files {
      if let files { return files }
      let new = read()
      known = KnownHosts(new.knownHosts)
      files = new
      return new
    }
  }

  private let read: @Sendable () -> Files
  private let state = Lock(State())

  package init(_ read: @escaping @Sendable () -> Files = { Files() }) { self.read = read }

  deinit { state.withLock { for file in $0.lines.values { close(file) } } }

  var files: Files { state.withLock { $0.read(read) } }

  /// CURLOPT_SSH_KNOWNHOSTS, only so that the server is asked for a key of a type that is known; `nil` for an unknown
  /// host.
  func path(for address: Address) -> String? {
    state.withLock { state in
      _ = state.read(read)
      if let file = state.lines[address.hostAndPort] { return "/proc/self/fd/\(file)" }
      guard let line = state.known.line(for: address.host, port: address.port) else { return nil }
      let file = dlm_memory_file("known-host")
      guard file >= 0 else { return nil }
      let bytes = Array(line.utf8)
      guard write(file, bytes, bytes.count) == bytes.count else {
        close(file)
        return nil
      }
      state.lines[address.hostAndPort] = file
      return "/proc/self/fd/\(file)"
    }
  }

  /// - Parameter key: as the server sent it (RFC 4253 §6.6): its type, and its numbers.
  /// - Returns: `nil` for a key that is known.
  func failure(of key: [UInt8], at address: Address) -> DownloadError? {
    let length = key.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    let type = String(utf8: key.dropFirst(4).prefix(min(length, 64)))
    let fault = state.withLock { state in
      _ = state.read(read)
      return state.known.fault(of: Base64.text(key), type: type, at: address.host, port: address.port)
    }
    guard let fault else { return nil }
    let hash = Base64.text(ContentHasher.digest(of: key).bytes).prefix { $0 != "=" }
    return DownloadError(
      .hostKey, cause: .hostKey(fault, fingerprint: "\(type) SHA256:\(hash)"), activity: "connecting")
  }
}
