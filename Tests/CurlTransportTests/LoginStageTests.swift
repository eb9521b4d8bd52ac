import DownloadModel
import Testing

@testable import CurlTransport

@Suite("Which login a server gets, and which next (HTTP rule 41)")
struct LoginStageTests {
  @Test(
    arguments: [
      ("Basic realm=\"x\"", [.basic]), ("Digest realm=\"x\", nonce=\"y\"", [.digest]),
      ("digest realm=\"x\",nonce=\"y\",qop=\"auth\", BASIC realm=\"z\"", [.digest, .basic]),
      ("Negotiate", [.negotiate]), ("Negotiate, Basic realm=\"Digest realm, Digest x\"", [.negotiate, .basic]),
      ("Basic realm=\"a \\\" b, Digest c\"", [.basic]), ("Bearer x, NTLM", []), ("", []), (", ,", []),
      ("Custom digest=1, basic = 2", []), ("Digest", [.digest]), ("\"Digest", []),
    ] as [(String, Set<LoginScheme>)])
  func offers(field: String, expected: Set<LoginScheme>) { #expect(LoginScheme.offered(by: field) == expected) }

  @Test func basicAtOnceThenWhatIsOffered() {
    #expect(LoginStage.basic.next([.basic]) == nil)
    #expect(LoginStage.basic.next([]) == nil)
    #expect(LoginStage.basic.next([.basic, .digest]) == .probe)
    #expect(LoginStage.basic.next([.negotiate]) == .negotiate(isLast: true))
    #expect(LoginStage.basic.next([.negotiate, .digest]) == .probe)
    #expect(LoginStage.probe.next([.digest]) == .digest(isFresh: true))
    #expect(LoginStage.probe.next([.basic]) == .plainBasic)
    #expect(LoginStage.probe.next([]) == nil)
  }

  /// A challenge of another realm, or one that has become stale, costs a detour; a login that is wrong ends.
  @Test func refused() {
    #expect(LoginStage.digest(isFresh: false).next([.digest]) == .probe)
    #expect(LoginStage.digest(isFresh: false).next([.basic]) == .plainBasic)
    for last in [LoginStage.digest(isFresh: true), .negotiate(isLast: true), .plainBasic] {
      #expect(last.next([.basic, .digest, .negotiate]) == nil)
    }
  }

  @Test func everyWayEnds() {
    for start in [
      LoginStage.basic, .probe, .digest(isFresh: false), .digest(isFresh: true), .negotiate(isLast: false),
    ] {
      for raw in UInt8(0)..<8 {
        var (stage, steps) = (Optional(start), 0)
        while let now = stage {
          let offers = LoginScheme.allCases.enumerated().filter { raw >> $0.offset & 1 == 1 }.map(\.element)
          stage = now.next(Set(offers))
          steps += 1
        }
        #expect(steps <= 4)
      }
    }
  }

  @Test func memory() throws {
    let memory = LoginMemory()
    let one = try Address("http://h:81/a")
    let other = try Address("http://h:82/a")
    let origin = LoginMemory.origin(one)
    func stage(_ address: Address, _ challenger: String? = nil) -> LoginStage {
      memory.stage(at: address, challenger: challenger)
    }
    #expect(stage(one) == .probe)
    #expect(memory.next(after: .probe, challenge: nil, at: one) == nil)
    #expect(memory.next(after: .probe, challenge: "Digest realm=\"x\"", at: one) == .digest(isFresh: true))
    #expect(stage(one) == .probe)
    #expect(stage(one, origin) == .digest(isFresh: false))
    #expect(stage(one, LoginMemory.origin(other)) == .probe)
    // Another realm of the same origin.
    #expect(
      memory.next(after: .digest(isFresh: false), challenge: "Basic realm=\"y\"", at: one) == .plainBasic)
    #expect(stage(one, origin) == .digest(isFresh: false))
    #expect(stage(other, origin) == .probe)
    #expect(memory.next(after: .probe, challenge: "Negotiate", at: other) == .negotiate(isLast: false))
    #expect(stage(other) == .negotiate(isLast: false))
    // There is no ticket that it takes.
    #expect(memory.next(after: .negotiate(isLast: false), challenge: "Negotiate", at: other) == nil)
    #expect(stage(other) == .probe)
  }

  /// git-lfs#4815: a server offers Negotiate beside Basic, there is no ticket, and netrc has a login.
  @Test func negotiateWithoutATicket() throws {
    let memory = LoginMemory()
    let address = try Address("http://h/a")
    let challenge = "Negotiate, Basic realm=\"x\""
    let first = memory.next(after: .probe, challenge: challenge, at: address)
    #expect(first == .negotiate(isLast: false))
    #expect(memory.next(after: .negotiate(isLast: false), challenge: challenge, at: address) == .plainBasic)
    #expect(memory.stage(at: address, challenger: nil) == .basic, "further files send the login at once")
    // Over TLS, Basic was refused before.
    #expect(LoginStage.basic.next([.negotiate, .basic]) == .negotiate(isLast: true))
  }

  /// Over TLS at once; over plain http from the first challenge on, and for the login that was asked for.
  @Test func basicWhenItMayBe() throws {
    let memory = LoginMemory()
    func stage(_ text: String) throws -> LoginStage {
      memory.stage(at: try Address(text), challenger: nil)
    }
    #expect(try stage("https://h/a") == .basic)
    let challenge = "Basic realm=\"x\""
    let address = try Address("http://a:b@h/one")
    #expect(try stage("http://a:b@h/one") == .probe)
    #expect(memory.next(after: .probe, challenge: challenge, at: address) == .plainBasic)
    #expect(try stage("http://a:b@h/two?x=y@z") == .basic)
    #expect(memory.next(after: .basic, challenge: challenge, at: address) == nil)
    for elsewhere in ["http://c:d@h/one", "http://h/one", "http://a:b@h:81/one"] {
      #expect(try stage(elsewhere) == .probe)
    }
    #expect(LoginMemory.origin(address) == "http://a:b@h")
  }
}
