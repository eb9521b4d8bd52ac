import DownloadModel
import Testing

@testable import dlm

@Suite("Words about a proxy name it, its trouble and a remedy that is about proxies")
struct ProxyMessagesTests {
  private static let proxy = "http://proxy.example.org:3128"

  private static let cases: [(ProxyRefusal.Answer, Bool, String)] = [
    (.login, true, "the proxy \(proxy) refused the login; check user and password"),
    (.login, false, "the proxy \(proxy) wants a login; give one in its address"),
    (.status(403), false, "no connection: the proxy \(proxy) answered 403 Forbidden; its rules"),
    (
      .status(503), false,
      "no connection: the proxy \(proxy) answered 503 Service Unavailable; is the server up"
    ),
    (.forbidden, false, "the proxy \(proxy) does not allow a connection to this host; its rules"),
    (
      .unreachable("host unreachable"), false,
      "no connection: the proxy \(proxy) said host unreachable; is the server"
    ),
    (.away("why"), false, "no connection to \(proxy): why; is the proxy up"),
    (.misunderstood("why"), false, "the proxy \(proxy) is not understood: why; is it a proxy of this kind"),
    (.insecure("why"), false, "no secure connection to the proxy \(proxy): why; if you know its issuer"),
  ]

  @Test func eachAnswer() {
    for (answer, hadLogin, words) in Self.cases {
      let refusal = ProxyRefusal(proxy: Self.proxy, hadLogin: hadLogin, answer: answer)
      let line = FailureMessages(DownloadError(.proxy, cause: .proxy(refusal))).line
      #expect(
        line.replacing("no connection to the proxy", with: "no connection to").hasPrefix(words), "\(line)")
      // The gate takes logins out of addresses: an @ in the words behind one would take the proxy's name with
      // it.
      #expect(Redaction.redacted(line) == line)
      #expect(!line.contains("netrc"))
    }
  }

  /// A 407 that comes out of a tunnel or without a proxy is no matter of netrc either.
  @Test func aServers407() {
    let words = FailureMessages(DownloadError(.status, cause: .http(status: 407)))
    #expect(words.remedy?.contains("--proxy") == true && words.remedy?.contains("netrc") == false)
  }
}
