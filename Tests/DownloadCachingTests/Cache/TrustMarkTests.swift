import DownloadModel
import Synchronization
import SystemPackage
import Testing

@testable import DownloadCaching
@testable import FileReceiving

@Suite("What is stored is worth so much to a request (HTTP rule 30)")
struct TrustMarkTests {
  private static let marks = ["", "a", "b", "!a", "!b", "?a", "?b"]

  /// Stored under the first, asked for under the second.
  @Test(arguments: marks, marks) func reuse(stored: String, asked: String) {
    let isNever =
      stored.hasPrefix("!") && !asked.hasPrefix("!") || stored.hasPrefix("?") || asked.hasPrefix("?")
    let expected: Reuse = stored == asked ? .asOwn : isNever ? .never : .byStrongTag
    #expect(TrustMark(text: asked).reuse(of: TrustMark(text: stored)) == expected)
    let mayNotRenew =
      asked.hasPrefix("!") && !stored.hasPrefix("!") || stored.hasPrefix("?") || asked.hasPrefix("?")
    #expect(TrustMark(text: asked).mayRenew(TrustMark(text: stored)) == (stored == asked || !mayNotRenew))
  }

  @Test(arguments: [
    (Validator(etag: "\"v\""), true), (Validator(etag: "W/\"v\""), false), (Validator(), false),
    (Validator(lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", date: "Sun, 06 Nov 1994 09:49:37 GMT"), false),
  ])
  func parts(validator: Validator, hasStrongTag: Bool) {
    for stored in Self.marks {
      for asked in Self.marks {
        let mark = TrustMark(text: asked)
        let part = HeldPart(length: 9, validator: validator, trust: TrustMark(text: stored))
        let trust = RequestTrust(own: mark, redirected: mark)
        let reuse = mark.reuse(of: part.trust)
        let isContinued = reuse == .asOwn || reuse == .byStrongTag && hasStrongTag
        #expect(part.mayBeContinued(under: trust, isProvable: false) == isContinued)
        // A digest proves what a list's mirror sent; what nobody checked stays unused even so (HTTP rule 30).
        let isProved = reuse == .never && !stored.hasPrefix("!")
        #expect(part.mayBeContinued(under: trust, isProvable: true) == (isContinued || isProved))
      }
    }
  }

  private func trust(
    _ text: String, from provenance: Provenance = .user, _ change: (inout Trust) -> Void = { _ in }
  ) throws -> RequestTrust {
    var configuration = CacheConfiguration(directory: "/", cacheFolder: nil)
    change(&configuration.trust)
    let request = DownloadRequest(id: 0, address: try Address(text), wishes: .init(provenance: provenance))
    return RequestFingerprint(configuration, Self.secret, runNumber: 0).trust(of: request)
  }

  private static let secret = UserSecret.forThisProcess()

  /// What is not sent to servers that a list at an address names makes no answer of theirs the user's own.
  @Test func strangers() throws {
    let identity = TLSOptions.Identity(certificate: "/c", digest: "1", isPKCS12: false)
    let kept: [(inout Trust) -> Void] = [
      { $0.headerLines = ["X-Key: a"] }, { $0.tls.identity = identity },
      { $0.logins = NetrcLogins(Array("default login a password b".utf8)) },
    ]
    let plain = try trust("https://h/x", from: .thirdParty)
    #expect(try plain == trust("https://h/x"))
    for change in kept {
      #expect(try trust("https://h/x", from: .thirdParty, change) != trust("https://h/x", change))
      #expect(try trust("https://h/x", from: .home, change) == trust("https://h/x", change))
    }
    for change in kept.dropFirst() { #expect(try trust("https://h/x", from: .thirdParty, change) == plain) }
    let other = try trust("https://h/x", from: .thirdParty) { $0.headerLines = ["X-Key: b"] }
    #expect(try trust("https://h/x", from: .thirdParty, kept[0]) == other, "they got neither")
    let sent: [(inout Trust) -> Void] = [
      { $0.logins = NetrcLogins(Array("machine h login a password b".utf8)) }, { $0.isInsecure = true },
      { $0.cookies = [".h\tTRUE\t/\tFALSE\t0\twho\tme"] },
    ]
    for change in sent {
      #expect(try trust("https://h/x", from: .thirdParty, change) == trust("https://h/x", change))
    }
  }

  @Test func credentialsOfAnAddress() throws {
    #expect(try trust("http://host/") == .usual)
    let marks = [
      try trust("http://u:p@host/"), try trust("http://u:q@host/"), try trust("http://u@host/"),
      try trust("http://host/") { $0.headerLines = ["X-A: u:p"] },
      try trust("http://u:p@host/") { $0.headerLines = ["X-A: u:p"] },
    ].map(\.own)
    #expect(Set(marks).count == marks.count && !marks.contains(.usual))
    #expect(try trust("http://u:p@host/a") == trust("http://u:p@host/b"))
    #expect(!marks.contains { $0.text.contains("u:p") })
  }

  /// A hash of the system's certificates takes half a millisecond, so plain HTTP does without it.
  @Test func filesAreReadForTLSOnly() throws {
    let read = Lock<[String]>([])
    let change = { (trust: inout Trust) in
      trust.caFile = "/ca"
      trust.fileDigest = { path in
        read.withLock { $0.append(path) }
        return "1"
      }
    }
    _ = try trust("http://host/", change)
    let forPlain = read.withLock { $0 }
    _ = try trust("https://host/", change)
    let forTLS = read.withLock { $0 }
    #expect(forPlain == [] && forTLS == ["/ca"])
  }

  /// Over plain HTTP nobody is checked, unless a redirect leads to where somebody is.
  @Test func plainHTTP() throws {
    let plain = try trust("http://host/") { $0.isInsecure = true }
    let secure = try trust("https://host/") { $0.isInsecure = true }
    #expect(plain.own == .usual && plain.redirected == secure.own && secure.own == secure.redirected)
    #expect(plain[nil] == .usual && plain["https://host/"] == secure.own)
    let pinned = try trust("https://host/") {
      $0.isInsecure = true
      $0.tls.pinnedKeys = "sha256//a"
    }
    #expect(secure.own.text.hasPrefix("!") && !pinned.own.text.hasPrefix("!"))
  }
}
