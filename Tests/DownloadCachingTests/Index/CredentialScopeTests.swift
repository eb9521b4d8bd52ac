import DownloadModel
import Testing

@testable import DownloadCaching

@Suite("Credentials tell files apart and are not stored")
struct CredentialScopeTests {
  /// The reference implementation's vectors: key 00…0f, messages of 0, 1, 8 and 15 bytes 00, 01, 02 ….
  @Test(
    arguments: [
      (0, 0x726f_db47_dd0e_0e31), (1, 0x74f8_39c5_93dc_67fd), (8, 0x93f5_f579_9a93_2462),
      (15, 0xa129_ca61_49be_45e5),
    ] as [(Int, UInt64)])
  func sipHash(length: Int, expected: UInt64) {
    let key = (SipHash.word(Array(0..<8)[...]), SipHash.word(Array(8..<16)[...]))
    #expect(SipHash.hash(Array(0..<UInt8(length)), key: key) == expected)
  }

  @Test func scopesDifferWhereCredentialsDo() throws {
    let scope = CredentialScope(key: (1, 2))
    func name(_ text: String, _ more: String? = nil) throws -> String {
      scope.name(of: try Address(text), more: more)
    }
    #expect(try name("http://host/") == "")
    let names = [
      try name("http://u:p@host/"), try name("http://u:q@host/"), try name("http://u@host/"),
      try name("http://host/", "u:p"), try name("http://u:p@host/", ""), try name("http://host/", ""),
    ]
    // An empty "more" is something said, and differs from nothing said only where nothing else is said either.
    #expect(Set(names).count == 5 && names[0] == names[4])
    #expect(try name("http://u:p@host/a") == name("http://u:p@host/b"))
    #expect(CredentialScope(key: (1, 3)).name(of: try Address("http://u:p@host/"), more: nil) != names[0])
  }

  @Test func theKeyIsMadeOnceAndPrivate() throws {
    let temporary = try TemporaryFolder()
    let folder = try Folder(temporary.path, mode: 0o700)
    let address = try Address("http://u:p@host/")
    let first = try CredentialScope(in: folder).name(of: address, more: nil)
    #expect(try CredentialScope(in: folder).name(of: address, more: nil) == first)
    #expect(try temporary.names() == [CredentialScope.fileName])
    #expect(try temporary.bytes(CredentialScope.fileName).count == 16)
  }
}
