import DownloadModel
import Testing

@testable import DownloadCaching

extension RequestFields {
  fileprivate init(_ lines: [String], userAgent: String = "") {
    var trust = Trust(userAgent: userAgent)
    trust.headerLines = lines
    self.init(trust)
  }
}

@Suite("Which header lines tell answers apart (HTTP rules 29 and 30)")
struct RequestFieldsTests {
  private func key(_ lines: String...) -> String? { RequestFields(lines, userAgent: "dlm/1").key }

  @Test func writtenOtherwiseTheyAreTheSame() {
    #expect(key("X-Api-Key: a", "Accept: b") == key("accept:b", "x-api-key:\ta  "))
    #expect(key("X-Api-Key: a", "X-Api-Key: a") == key("X-Api-Key: a"))
    #expect(key("X-Empty;") == key("x-empty:"))
    #expect(key("X-A:\u{301}b") == key("x-a: \u{301}b"))
    #expect(key() == nil)
  }

  @Test func whatCanSelectOrUnlockIsInTheKey() {
    let keys = [
      key("X-Api-Key: a"), key("X-Api-Key: A"), key("X-Api-Key: a", "X-Api-Key: b"),
      key("X-Api-Key: b", "X-Api-Key: a"), key("Accept-Language: de"), key("Authorization: a"),
      key("Cookie: a"),
      key("Referer: a"), key("Host: a"), key("Accept: a"), key("X-Api-Keya:"), key(),
    ]
    #expect(Set(keys).count == keys.count)
  }

  @Test func whatIsHarmlessIsNot() {
    #expect(key("User-Agent: x", "Cache-Control: no-cache", "DNT: 1", "X-Request-ID: 4") == nil)
  }

  @Test func varyNamesWhatIsNotInTheKey() {
    let fields = RequestFields(["X-Api-Key: a", "DNT: 1"], userAgent: "dlm/1")
    #expect(fields.values(namedBy: "User-Agent") == "user-agent:dlm/1\n")
    #expect(fields.values(namedBy: "accept-encoding , DNT,user-agent") == "dnt:1\nuser-agent:dlm/1\n")
    #expect(fields.values(namedBy: "Accept-Encoding, X-Api-Key") == nil)
    let named = RequestFields(["user-agent: mine"], userAgent: "dlm/1")
    #expect(named.values(namedBy: "User-Agent") == "user-agent:mine\n")
    #expect(RequestFields.names("*", vary: "Accept, *") && !RequestFields.names("*", vary: "Accept"))
  }

  /// RFC 9111 §4.1, in the spellings that servers use.
  @Test(arguments: [
    ("*", true), (" * ", true), ("*, Accept", true), ("Accept,*", true), ("Accept, *, Cookie", true),
    ("**", false), ("a*", false), ("Accept", false), ("", false), (", ,", false),
  ])
  func anyField(vary: String, isAny: Bool) { #expect(RequestFields.names("*", vary: vary) == isAny) }

  @Test(arguments: [
    "User-Agent", "user-agent", "USER-AGENT", " User-Agent ", ",User-Agent,", "Accept,User-Agent",
    "Accept , User-Agent , Foo", "User-Agent, User-Agent",
  ])
  func namesOfVary(vary: String) {
    #expect(RequestFields([], userAgent: "dlm/1").values(namedBy: vary) == "user-agent:dlm/1\n")
  }

  @Test(arguments: [
    ("Cache-Control: no-store", true), ("cache-control:max-age=0, NO-STORE", true),
    ("Cache-Control: no-cache", false),
    ("X-Cache-Control: no-store", false),
  ])
  func noStore(line: String, forbids: Bool) {
    #expect(RequestFields([line]).forbidsStoring == forbids)
  }
}

@Suite("What a netrc file says for a host (HTTP rule 30)")
struct NetrcLoginsTests {
  private func login(_ text: String, _ host: String) -> String? {
    NetrcLogins(Array(text.utf8)).login(for: host)
  }

  @Test func machinesAndTheDefault() {
    let file = """
      # machine commented login no password no
      machine Host.example login me password p1
      machine other
        login "a b" password "q\\"uote"
      macdef init
      machine inside login a macro

      default login anonymous password mail
      """
    let host = login(file, "host.example")
    #expect(host != nil && host == login("machine host.example\nlogin me\r\n\tpassword p1", "host.example"))
    #expect(host != login(file.replacing("p1", with: "p2"), "host.example"))
    #expect(host == login(file.replacing("quote", with: "other"), "host.example"))
    #expect(login(file, "other") != login(file.replacing("uote", with: "x"), "other"))
    #expect(login(file, "inside") == login(file, "nowhere") && login(file, "nowhere") != nil)
    #expect(login("machine a login b", "c") == nil && login("", "c") == nil)
    #expect(login("machine ::1 login b", "[::1]") != nil)
    // Words that are values.
    #expect(login("machine a login machine password default", "b") == nil)
    #expect(login("machine a login machine password default", "password") == nil)
  }
}
