import Glibc

private let mimeTypes = """
  text/html html
  text/plain txt
  text/css css
  application/json json
  application/gzip gz tgz
  application/pdf pdf

  """

extension LoopbackServer {
  /// Apache's httpd with the prefork module, serving the folder `root` of its folder.
  /// - Parameters:
  ///   - workers: processes, each of which serves one connection at a time; nil for Apache's own choice.
  ///   - modules: besides those that serve files: `deflate`, `auth_digest`. Each by the name of its file.
  ///   - lines: further lines of the configuration.
  ///   - tlsCertificate: a PEM file with certificate and key; with it the one port speaks TLS.
  package static func apache(
    workers: Int? = nil, modules: [String] = [], lines: [String] = [], tlsCertificate: String? = nil,
    folder: TemporaryFolder? = nil
  ) async throws -> LoopbackServer {
    let folder = try folder ?? TemporaryFolder()
    mkdir(folder.path("root"), 0o755)
    let limits = workers.map {
      "StartServers \($0)\nMinSpareServers 1\nMaxSpareServers \($0)\nServerLimit \($0)\nMaxRequestWorkers \($0)"
    }
    let all =
      ["mpm_prefork", "authz_core", "authn_core", "authz_host", "mime", "dir", "headers"] + modules
      + (tlsCertificate == nil ? [] : ["socache_shmcb", "ssl"])
    let tls = tlsCertificate.map { "SSLEngine on\nSSLCertificateFile \"\($0)\"\nSSLSessionCache none" }
    let loads = all.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
    return try await LoopbackServer(
      "/usr/sbin/apache2", package: "apache2-bin", folder: folder
    ) { path, ports in
      let text = """
        ServerRoot "\(path)"
        ServerName localhost
        Listen 127.0.0.1:\(ports[0])
        \(loads.joined(separator: "\n"))
        User www-data
        Group www-data
        PidFile "\(path)/httpd.pid"
        Mutex fcntl:\(path)
        ErrorLog "\(path)/error.log"
        LogFormat "%>s %O %{c}L %U%q" seen
        TypesConfig "\(path)/mime.types"
        DocumentRoot "\(path)/root"
        KeepAlive On
        KeepAliveTimeout 5
        MaxKeepAliveRequests 0
        \(limits ?? "")
        <Directory "\(path)/root">
          Require all granted
        </Directory>
        \(tls ?? "")
        \(lines.joined(separator: "\n"))

        """
      return Launch(
        files: ["httpd.conf": text, "mime.types": mimeTypes],
        arguments: ["-d", path, "-f", "\(path)/httpd.conf", "-D", "FOREGROUND"])
    }
  }
}
