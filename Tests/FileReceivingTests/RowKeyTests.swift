import DownloadModel
import Testing

@testable import FileReceiving

struct RowKeyTests {
  private let key = Self.key(requested: "")

  private static func key(requested: String) -> RowKey {
    RowKey(address: "http://a/x", directory: "/d", requested: requested)
  }

  /// The address owns the file, whichever name was asked for. A number that the file system uses again is another file.
  @Test func theAddressOwnsTheFile() {
    let file = FileIdentity(device: 1, inode: 2, size: 3, modified: 4)
    var owners = FileOwners()
    owners.add(file, of: key)
    #expect(!owners.isOwned(file, besides: Self.key(requested: "chosen")))
    let other = RowKey(address: "http://a/y", directory: "/d", requested: "")
    #expect(owners.isOwned(file, besides: other))
    #expect(!owners.isOwned(FileIdentity(device: 1, inode: 2, size: 3, modified: 5), besides: other))
  }

  @Test(
    arguments: [
      ("", "x", nil, true), ("x", "x", nil, true), ("y", "y", nil, false), ("x", "x.1", nil, false),
      ("", "report.pdf", nil, true), ("", "x", "x", true), ("", "x.1", "x", false), ("x", "x.1", "x", true),
      ("", "x.1", "x.1", true), ("/", "x", nil, false), ("/x.rejected", "x.rejected", "x.rejected", false),
    ] as [(String, String, String?, Bool)])
  func whoseFileItIs(requested: String, name: String, wanted: String?, isIt: Bool) throws {
    let directory = try Bench().directory
    let request = DownloadRequest(id: 0, address: try Address("http://a/x"), wishes: .init(outputName: wanted))
    let key = RowKey(of: request, in: directory)
    for folder in [directory.canonicalPath, "/elsewhere"] {
      let row = CacheRow(
        key: RowKey(address: "http://a/x", directory: folder, requested: requested), name: name, wanted: "x",
        identity: FileIdentity(device: 1, inode: 2, size: 3, modified: 4), changed: ChangeTime(number: 1),
        validator: Validator(), fetchedAt: 1, freshness: FreshnessFields())
      #expect(row.isFile(named: FileNaming.name(of: request), of: key) == (isIt && folder != "/elsewhere"))
    }
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
