import DownloadModel
import Testing

@testable import dlm

@Suite("Words about a proxy name it, its trouble and a remedy that is about proxies")
struct ProxyMessagesTests {
  private static let proxy = "http://proxy.example.org:3128"

  private static let cases: [(ProxyRefusal.Answer, Bool, String)] = [
    (.login, true, "the proxy \(proxy) refused the login; check user and password"),
    (.login, false, "the proxy \(proxy) requires a login; put user and password before the host"),
    (.status(403), false, "cannot connect: the proxy \(proxy) answered 403 Forbidden; ask the proxy's owner"),
    (
      .status(503), false,
      "cannot connect: the proxy \(proxy) answered 503 Service Unavailable; the proxy cannot reach the server"
    ),
    (.forbidden, false, "the proxy \(proxy) does not allow a connection to this host; ask the proxy's owner"),
    (
      .unreachable("host unreachable"), false,
      "cannot connect: the proxy \(proxy) said host unreachable; the proxy cannot reach the server"
    ),
    (.away("why"), false, "cannot connect to \(proxy): why; check that the proxy is up"),
    (.misunderstood("why"), false, "the proxy \(proxy) gave an invalid answer: why; check the kind of the proxy"),
    (.insecure("why"), false, "no secure connection to the proxy \(proxy): why; check that it is an https proxy"),
  ]

  @Test func eachAnswer() {
    for (answer, hadLogin, words) in Self.cases {
      let refusal = ProxyRefusal(proxy: Self.proxy, hadLogin: hadLogin, answer: answer)
      let line = FailureMessages(DownloadError(.proxy, cause: .proxy(refusal))).line
      #expect(
        line.replacing("cannot connect to the proxy", with: "cannot connect to").hasPrefix(words), "\(line)")
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
