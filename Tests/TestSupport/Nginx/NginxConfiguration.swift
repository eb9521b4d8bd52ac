/// The text of nginx.conf: everything it writes lies in one folder.
struct NginxConfiguration {
  let folder: String
  let plainPort: UInt16
  let tlsPort: UInt16
  /// Further lines of the http block, such as `limit_conn_zone $server_port zone=all:1m;`.
  let httpLines: [String]
  /// Further lines of the server block, such as `location /slow/ { limit_rate 10k; }`.
  let serverLines: [String]

  static let accessLog = "access.log"
  static let documentRoot = "root"
  static let certificate = "certificate.pem"
  static let key = "key.pem"

  /// One process without a master: nothing is left behind when it is killed, and it keeps the user (and so the
  /// access to the folder) that it was started with, root or not.
  var text: String {
    """
    daemon off;
    master_process off;
    worker_processes 1;
    pid "\(folder)/nginx.pid";
    error_log stderr warn;
    events { worker_connections 4096; }
    http {
      log_format seen '\(AccessLogLine.format)';
      access_log "\(folder)/\(Self.accessLog)" seen;
      client_body_temp_path "\(folder)/temporary/body";
      proxy_temp_path "\(folder)/temporary/proxy";
      fastcgi_temp_path "\(folder)/temporary/fastcgi";
      uwsgi_temp_path "\(folder)/temporary/uwsgi";
      scgi_temp_path "\(folder)/temporary/scgi";
      default_type application/octet-stream;
      sendfile on;
      tcp_nopush on;
      keepalive_requests 100000;
      keepalive_timeout 60s;
      \(httpLines.joined(separator: "\n  "))
      server {
        listen 127.0.0.1:\(plainPort) backlog=4096;
        listen 127.0.0.1:\(tlsPort) ssl http2 backlog=4096;
        ssl_certificate "\(folder)/\(Self.certificate)";
        ssl_certificate_key "\(folder)/\(Self.key)";
        root "\(folder)/\(Self.documentRoot)";
        \(serverLines.joined(separator: "\n    "))
      }
    }

    """
  }
}
