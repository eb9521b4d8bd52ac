import RunDoors
import Testing

@testable import dlm_serve

/// Reports of downloaders with a page or RPC on loopback: a site whose name resolves to 127.0.0.1 reads and steers them
/// (transmission 468, sabnzbd 1092); a token in the query stands in logs and histories (macaron-artifacts 58).
@Suite("Which requests the page answers")
struct GateTests {
  private static let token = "right"
  private static let gate = Gate(
    PageSettings(
      port: 0, directory: "/d", state: "/s", program: "dlm", allowedOrigins: ["http://ng.example"],
      hosts: ["Files.example"]), port: 6800, AccessToken(text: token))

  private static func head(
    _ path: String, _ method: String = "GET", host: [String] = ["127.0.0.1:6800"], origin: String? = nil,
    token: String? = nil
  ) -> Gate.Head {
    Gate.Head(method: method, path: path, hosts: host, origin: origin, authorization: token.map { "Bearer \($0)" })
  }

  /// `nil` for an answer.
  private static func refusal(_ head: Gate.Head) -> UInt? {
    if case .refuse(let status, _) = gate.verdict(head) { status } else { nil }
  }

  @Test func hosts() {
    for host in ["127.0.0.1:6800", "localhost:6800", "LOCALHOST:6800", "[::1]:6800", "files.example"] {
      #expect(Self.refusal(Self.head("/", host: [host])) == nil, "\(host)")
    }
    for hosts in [
      [], ["evil.example:6800"], ["127.0.0.1"], ["127.0.0.1:80"], ["127.0.0.1:6800", "127.0.0.1:6800"],
      ["127.0.0.1:6800.evil.example"], ["files.example:6800"], [""],
    ] {
      for path in ["/", "/api/runs", "/jsonrpc"] {
        let head = Self.head(path, path == "/jsonrpc" ? "POST" : "GET", host: hosts, token: Self.token)
        #expect(Self.refusal(head) == 421, "\(hosts) \(path)")
      }
    }
  }

  @Test func tokens() {
    #expect(Self.gate.verdict(Self.head("/api/runs", token: Self.token)) == .answer())
    for token in ["", "x", "rights", "righ", "RIGHT"] {
      #expect(Self.gate.verdict(Self.head("/api/runs", token: token)) == .wrongToken, "\(token)")
    }
    #expect(Self.refusal(Self.head("/api/runs")) == 401)
    var basic = Self.head("/api/runs")
    basic.authorization = "Basic cmlnaHQ="
    #expect(Self.refusal(basic) == 401)
  }

  @Test func origins() {
    for origin in ["http://127.0.0.1:6800", "http://localhost:6800", "https://files.example"] {
      #expect(Self.gate.verdict(Self.head("/api/runs", "POST", origin: origin, token: Self.token)) == .answer())
    }
    for origin in [
      "http://127.0.0.1:80", "null", "http://evil.example", "ftp://localhost:6800", "http://ng.example", "",
    ] {
      #expect(Self.refusal(Self.head("/api/runs", "POST", origin: origin, token: Self.token)) == 403, "\(origin)")
      #expect(Self.refusal(Self.head("/", origin: origin)) == 403, "\(origin)")
    }
  }

  /// Its token is in the parameters, so that its own check comes later.
  @Test func remoteCalls() {
    let other = "http://ng.example"
    #expect(Self.gate.verdict(Self.head("/jsonrpc", "POST")) == .answer())
    #expect(Self.gate.verdict(Self.head("/jsonrpc", "POST", origin: other)) == .answer(origin: other))
    #expect(Self.gate.verdict(Self.head("/jsonrpc", "OPTIONS", origin: other)) == .preflight(origin: other))
    #expect(Self.refusal(Self.head("/jsonrpc", "POST", origin: "http://evil.example")) == 403)
    #expect(Self.refusal(Self.head("/jsonrpc", "OPTIONS", origin: "http://evil.example")) == 403)
    #expect(Self.refusal(Self.head("/jsonrpc")) == 405)
  }

  @Test func paths() {
    for path in ["", "/x", "/api", "//", "/index.html", "/../etc/passwd"] {
      #expect(Self.refusal(Self.head(path, token: Self.token)) == 404, "\(path)")
    }
    #expect(Self.refusal(Self.head("/", "POST")) == 405)
  }
}
