import Glibc

extension LoopbackServer {
  /// vsftpd, serving the folder `root` of its folder to anybody.
  /// - Parameter tls: a certificate and its key, with which TLS is offered, and the data must resume its session.
  package static func vsftpd(
    tls: (certificate: String, key: String)? = nil, lines: [String] = []
  ) async throws -> LoopbackServer {
    let folder = try TemporaryFolder()
    mkdir(folder.path("root"), 0o755)
    let secure = tls.map {
      """
      ssl_enable=YES
      allow_anon_ssl=YES
      force_local_logins_ssl=NO
      force_local_data_ssl=NO
      require_ssl_reuse=YES
      ssl_ciphers=HIGH
      rsa_cert_file=\($0.certificate)
      rsa_private_key_file=\($0.key)
      """
    }
    return try await LoopbackServer("/usr/sbin/vsftpd", package: "vsftpd", folder: folder) { path, ports in
      let text = """
        listen=YES
        listen_ipv6=NO
        listen_address=127.0.0.1
        listen_port=\(ports[0])
        background=NO
        run_as_launching_user=YES
        anonymous_enable=YES
        no_anon_password=YES
        anon_root=\(path)/root
        secure_chroot_dir=\(path)/root
        local_enable=NO
        seccomp_sandbox=NO
        max_clients=0
        \(secure ?? "")
        \(lines.joined(separator: "\n"))

        """
      return Launch(files: ["vsftpd.conf": text], arguments: ["\(path)/vsftpd.conf"])
    }
  }

  /// OpenSSH's server, to which the user of the tests may log in with the key `user` of its folder.
  /// - Parameter keys: the types of its own keys, `host_TYPE` in its folder.
  package static func sshd(keys: [String] = ["ed25519", "ecdsa"], lines: [String] = []) async throws -> LoopbackServer {
    let folder = try TemporaryFolder()
    // Debian's service makes it.
    mkdir("/run/sshd", 0o755)
    mkdir(folder.path("root"), 0o755)
    for (name, type) in [("user", "ed25519")] + keys.map({ ("host_\($0)", $0) }) {
      let made = try await CommandRun.result(
        of: "ssh-keygen", ["-q", "-t", type, "-N", "", "-f", folder.path(name)])
      guard made.status == 0 else { throw SupportFailure("ssh-keygen: \(made.errorText)") }
    }
    return try await LoopbackServer("/usr/sbin/sshd", package: "openssh-server", folder: folder) { path, ports in
      let text = """
        ListenAddress 127.0.0.1:\(ports[0])
        \(keys.map { "HostKey \(path)/host_\($0)" }.joined(separator: "\n"))
        AuthorizedKeysFile \(path)/user.pub
        PidFile none
        StrictModes no
        UsePAM no
        PasswordAuthentication no
        MaxStartups 200
        Subsystem sftp internal-sftp
        \(lines.joined(separator: "\n"))

        """
      return Launch(files: ["sshd.conf": text], arguments: ["-D", "-e", "-f", "\(path)/sshd.conf"])
    }
  }

  /// The URL of a file in `root`.
  package func sftp(_ name: String, scheme: String = "sftp") -> String {
    "\(scheme)://127.0.0.1:\(port)\(folder.path("root"))/\(name)"
  }

  /// The line of known_hosts for its key of a type.
  package func hostLine(_ type: String = "ed25519") throws -> String {
    let key = String(decoding: try folder.read("host_\(type).pub"), as: UTF8.self).split(separator: " ")
    return "[127.0.0.1]:\(port) \(key[0]) \(key[1])\n"
  }

  package func ftp(_ path: String, scheme: String = "ftp") -> String { "\(scheme)://localhost:\(port)\(path)" }
}
