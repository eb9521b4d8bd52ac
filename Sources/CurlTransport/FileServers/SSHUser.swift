import CCurl
package import DownloadModel
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
    /// Asks the user, and may wait for long; `nil` without a terminal for questions.
    var ask: (@Sendable (UnknownHostKey) async -> Bool)?
    /// By host and port: the last unknown key that was offered, and the one that the user has accepted.
    var offered: [String: UnknownHostKey] = [:]
    var accepted: [String: String] = [:]
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

  package func onUnknownKey(_ ask: @escaping @Sendable (UnknownHostKey) async -> Bool) {
    state.withLock { $0.ask = ask }
  }

  /// Whether the user accepts the unknown key that a host has just offered.
  func accepts(_ place: Address) async -> Bool {
    let (ask, key) = state.withLock { ($0.ask, $0.offered[place.hostAndPort]) }
    guard let ask, let key, await ask(key) else { return false }
    state.withLock { $0.accepted[place.hostAndPort] = key.key }
    return true
  }

  /// - Parameter key: as the server sent it (RFC 4253 §6.6): its type, and its numbers.
  /// - Returns: `nil` for a key that is known.
  func failure(of key: [UInt8], at address: Address) -> DownloadError? {
    let length = key.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    let type = String(utf8: key.dropFirst(4).prefix(min(length, 64)))
    let text = Base64.text(key)
    let hash = Base64.text(ContentHasher.digest(of: key).bytes).prefix { $0 != "=" }
    let fingerprint = "\(type) SHA256:\(hash)"
    let fault = state.withLock { state in
      _ = state.read(read)
      let fault = state.known.fault(of: text, type: type, at: address.host, port: address.port)
      guard fault == .unknown else { return fault }
      // What the server calls the type of its key may be anything, and would be written to the user's file.
      let offered = UnknownHostKey(
        host: address.host, port: address.port, type: type, key: text, fingerprint: fingerprint)
      state.offered[address.hostAndPort] = KnownHosts.types.contains(type[...]) ? offered : nil
      return state.accepted[address.hostAndPort] == text ? nil : .unknown
    }
    guard let fault else { return nil }
    return DownloadError(.hostKey, cause: .hostKey(fault, fingerprint: fingerprint), activity: "connecting")
  }
}
