import DownloadModel
import Testing

@testable import DownloadCaching

struct RowKeyTests {
  private let key = RowKey(address: "http://a/x", scope: "", directory: "/d", requested: "")

  /// A file that one login brought was taken for no one's by a request with another login, and overwritten
  /// where the user allows that for files that dlm did not write.
  @Test func anotherLoginIsAnotherOwner() {
    let file = FileIdentity(device: 1, inode: 2, size: 3, modified: 4)
    var owners = FileOwners()
    owners.add(file, of: key)
    #expect(!owners.isOwned(file, besides: key))
    #expect(owners.isOwned(file, besides: key.with(scope: "someone")))
    #expect(owners.isOwned(file, besides: key.with(requested: "chosen")))
  }

  /// Swift's texts are equal where file systems see two names.
  @Test func namesAreComparedByBytes() {
    #expect(key.with(requested: "e\u{301}") != key.with(requested: "\u{e9}"))
    #expect(key.with(requested: "e") == key.with(requested: "e"))
  }

  /// A key of a request, and one that was read from the index.
  @Test(arguments: ["http://a/x", "http://user:secret@a/x"])
  func keysOfOneAddressAreEqual(text: String) throws {
    let ofRequest = RowKey(of: try Address(text), scope: "", directory: "/d", requested: "")
    #expect(ofRequest == key)
    #expect(ofRequest.hashValue == key.hashValue)
  }
}
