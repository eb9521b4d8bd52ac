import DownloadModel
import Testing

@testable import FileReceiving

struct RowKeyTests {
  private let key = Self.key(requested: "")

  private static func key(requested: String) -> RowKey {
    RowKey(address: "http://a/x", directory: "/d", requested: requested)
  }

  @Test func anotherNameIsAnotherOwner() {
    let file = FileIdentity(device: 1, inode: 2, size: 3, modified: 4)
    var owners = FileOwners()
    owners.add(file, of: key)
    #expect(!owners.isOwned(file, besides: key))
    #expect(owners.isOwned(file, besides: Self.key(requested: "chosen")))
  }

  /// Swift's texts are equal where file systems see two names.
  @Test func namesAreComparedByBytes() {
    #expect(Self.key(requested: "e\u{301}") != Self.key(requested: "\u{e9}"))
    #expect(Self.key(requested: "e") == Self.key(requested: "e"))
  }

  /// A key of a request, and one that was read from the index.
  @Test(arguments: [
    "http://a/x", "http://user:secret@a/x", "http://a/x?X-Amz-Date=1&X-Amz-Signature=2", "http://a/x#part",
    "http://u@a/x?sig=a%2Fb&sv=1&se=2&sp=r", "http://a/x?Expires=1&Signature=2&Key-Pair-Id=3",
  ])
  func keysOfOneAddressAreEqual(text: String) throws {
    let directory = try Bench().directory
    let ofRequest = RowKey(of: DownloadRequest(id: 0, address: try Address(text)), in: directory)
    let key = RowKey(address: "http://a/x", directory: directory.canonicalPath, requested: "")
    #expect(ofRequest == key)
    #expect(ofRequest.hashValue == key.hashValue)
  }
}
