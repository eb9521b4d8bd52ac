import Crypto
import DownloadModel
import Testing

@testable import DownloadCaching

@Suite("Credentials tell files apart and are not stored")
struct CredentialFingerprintTests {
  @Test func scopesDifferWhereCredentialsDo() throws {
    let scope = CredentialFingerprint(key: SymmetricKey(data: Array(repeating: 1, count: 32)))
    func name(_ text: String, _ more: String? = nil) throws -> String {
      scope.name(of: try Address(text), more: more)
    }
    #expect(try name("http://host/") == "")
    let names = [
      try name("http://u:p@host/"), try name("http://u:q@host/"), try name("http://u@host/"),
      try name("http://host/", "u:p"), try name("http://u:p@host/", ""), try name("http://host/", ""),
    ]
    // An empty "more" is something said, and differs from nothing said only where nothing else is said
    // either.
    #expect(Set(names).count == 5 && names[0] == names[4])
    #expect(try name("http://u:p@host/a") == name("http://u:p@host/b"))
    #expect(
      CredentialFingerprint(key: UserSecret.forThisProcess().key).name(
        of: try Address("http://u:p@host/"), more: nil) != names[0])
  }
}
