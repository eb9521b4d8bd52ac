import Foundation
import Glibc

extension LoopbackServer {
  /// How a proxy takes logins.
  package enum ProxyLogin: Sendable {
    case none, basic, digest
    /// Both are offered, and the client chooses.
    case basicOrDigest
  }

  /// The only login that `squid` and `tinyproxy` take here.
  package static let proxyUser = "me"
  package static let proxyPassword = "right"

  /// Squid as a forward proxy without a cache. `seen` tells what was asked of it.
  /// - Parameters:
  ///   - lines: of its configuration, before all other rules: `http_access deny CONNECT`.
  package static func squid(_ login: ProxyLogin = .none, lines: [String] = []) async throws -> LoopbackServer {
    let folder = try TemporaryFolder()
    mkdir(folder.path("log"), 0o777)
    chmod(folder.path("log"), 0o777)
    let takesBasic = login == .basic || login == .basicOrDigest
    let takesDigest = login == .digest || login == .basicOrDigest
    return try await LoopbackServer("/usr/sbin/squid", package: "squid", folder: folder) { path, ports in
      let basic = """
        auth_param basic program /bin/sh \(path)/basic.sh
        auth_param basic realm proxy
        auth_param basic children 1 startup=1 idle=1
        """
      let digest = """
        auth_param digest program /usr/lib/squid/digest_file_auth \(path)/passwords
        auth_param digest realm proxy
        auth_param digest children 1 startup=1 idle=1
        """
      let text = """
        http_port 127.0.0.1:\(ports[0])
        visible_hostname localhost
        pid_filename none
        cache deny all
        cache_log stdio:\(path)/log/cache.log
        logformat seen %>Hs %rm %ru
        access_log stdio:\(path)/log/access.log seen
        coredump_dir \(path)/log
        pinger_enable off
        shutdown_lifetime 0 seconds
        \(geteuid() == 0 ? "cache_effective_user proxy" : "")
        \(takesBasic ? basic : "")
        \(takesDigest ? digest : "")
        \(lines.joined(separator: "\n"))
        \(login == .none ? "" : "acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all")
        http_access allow all

        """
      // The helper's protocol: a line with user and password, percent-encoded, for a line with OK or ERR.
      let script = """
        while read -r user password; do
          if [ "$user $password" = "\(proxyUser) \(proxyPassword)" ]; then echo OK; else echo ERR; fi
        done

        """
      return Launch(
        files: [
          "squid.conf": text, "basic.sh": script, "passwords": "\(proxyUser):\(proxyPassword)\n",
        ], arguments: ["-N", "-f", "\(path)/squid.conf"])
    }
  }

  /// What was asked of `squid` so far, a line for each request: `407 CONNECT localhost:443`.
  package func squidLog() throws -> [String] {
    // A connection without a request, such as that which waits for its start, is logged as an error.
    String(decoding: try folder.read("log/access.log"), as: UTF8.self).split(separator: "\n").map(String.init)
      .filter { !$0.contains("error:") }
  }

  /// Tinyproxy, with Basic logins or none.
  /// - Parameter lines: of its configuration: `ConnectPort 443`.
  package static func tinyproxy(_ login: ProxyLogin = .none, lines: [String] = []) async throws
    -> LoopbackServer
  {
    try await LoopbackServer("/usr/bin/tinyproxy", package: "tinyproxy-bin") { path, ports in
      let text = """
        Port \(ports[0])
        Listen 127.0.0.1
        Timeout 60
        MaxClients 100
        LogLevel Info
        \(login == .none ? "" : "BasicAuth \(proxyUser) \(proxyPassword)")
        \(lines.joined(separator: "\n"))

        """
      return Launch(files: ["tinyproxy.conf": text], arguments: ["-d", "-c", "\(path)/tinyproxy.conf"])
    }
  }

  /// What was asked of `tinyproxy` so far, a line for each request.
  package var tinyproxyLog: [String] {
    outputText.split(separator: "\n").filter { $0.contains("Request (file descriptor") }.map(String.init)
  }

  /// A proxy's address, for `--proxy`.
  package func proxyURL(_ password: String? = nil, scheme: String = "http") -> String {
    "\(scheme)://\(password.map { "\(Self.proxyUser):\($0)@" } ?? "")127.0.0.1:\(port)"
  }
}

extension LoopbackServer {
  /// HAProxy before another server on this machine.
  /// - Parameters:
  ///   - backend: the port of the server that it asks.
  ///   - frontend: lines of its frontend, such as `maxconn 3`.
  ///   - backendLines: lines of its backend.
  package static func haproxy(
    before backend: UInt16, frontend: [String] = [], backendLines: [String] = []
  ) async throws -> LoopbackServer {
    try await LoopbackServer("/usr/sbin/haproxy", package: "haproxy") { path, ports in
      let text = """
        global
          maxconn 2000
        defaults
          mode http
          timeout connect 5s
          timeout client 60s
          timeout server 60s
          timeout http-keep-alive 60s
        frontend front
          bind 127.0.0.1:\(ports[0])
          \(frontend.joined(separator: "\n  "))
          default_backend back
        backend back
          \(backendLines.joined(separator: "\n  "))
          server one 127.0.0.1:\(backend)

        """
      return Launch(files: ["haproxy.cfg": text], arguments: ["-db", "-f", "\(path)/haproxy.cfg"])
    }
  }
}
