import DownloadModel
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import FileReceiving

@Suite("Folders below the output folder")
struct OpenFoldersTests {
  private func request(_ folder: String?, name: String? = nil) throws -> DownloadRequest {
    DownloadRequest(id: 0, address: try Address("http://h/x"), wishes: .init(outputName: name, folder: folder))
  }

  @Test func areMadeAndShared() throws {
    let folder = try TemporaryFolder()
    let folders = OpenFolders(try OutputDirectory(folder.filePath.appending("out")))
    #expect(try folders.directory(of: request(nil)) === folders.root)
    let directory = try folders.directory(of: request("a/b"))
    #expect(try folders.directory(of: request("a/b")) === directory)
    #expect(directory.canonicalPath == folders.root.canonicalPath + "/a/b")
    #expect(directory.path(of: "x") == folders.root.path(of: "a/b/x"))
    #expect(try folder.names(in: "out/a") == ["b"])
    // What the run knows of its files and of the disk, it knows once.
    #expect(directory.space === folders.root.space && directory.opened == folders.root.opened)
    let file = FileIdentity(device: 1, inode: 2, size: 3, modified: 4)
    directory.give(file, to: RowKey(address: "a", directory: "d", requested: ""))
    let other = RowKey(address: "b", directory: "d", requested: "")
    #expect(folders.root.isGiven(file, besides: other))
    // A file that another machine made since, with the number of one that is gone.
    #expect(!folders.root.isGiven(FileIdentity(device: 1, inode: 2, size: 3, modified: 5), besides: other))
  }

  /// Two normal forms of one text are one text to Swift, and two names to the disk.
  @Test func namesAreTheirBytes() throws {
    let folders = OpenFolders(try OutputDirectory(try TemporaryFolder().filePath))
    let (one, other) = (try folders.directory(of: request("\u{E9}")), try folders.directory(of: request("e\u{301}")))
    #expect(one !== other)
  }

  @Test func tenThousandDoNotStayOpen() throws {
    let folder = try TemporaryFolder()
    let folders = OpenFolders(try OutputDirectory(folder.filePath))
    func open() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
    let before = try open()
    let first = try folders.directory(of: request("0"))
    for number in 0..<3000 { _ = try folders.directory(of: request("\(number)")) }
    #expect(try open() < before + 200)
    #expect(try folders.directory(of: request("0")) === first)
    #expect(try folder.names().count == 3000)
  }

  @Test func aFolderWhoseNameAFileHasIsNumbered() throws {
    let folder = try TemporaryFolder()
    for name in ["a", "a.1", "b/c.d"] { _ = try folder.write([1], to: "out/\(name)") }
    let folders = OpenFolders(try OutputDirectory(folder.filePath.appending("out")))
    for (path, place) in [("a/x", "a.2/x"), ("b/c.d", "b/c.1.d"), ("b", "b")] {
      let directory = try folders.directory(of: request(path))
      #expect(directory.canonicalPath == folders.root.canonicalPath + "/\(place)")
      #expect(directory.path(of: "f") == folders.root.path(of: "\(place)/f"))
      #expect(directory.isNumbered == (path != place))
      if path == place { continue }
      let error = #expect(throws: DownloadError.self) { _ = try folders.directory(of: request(path, name: "f")) }
      #expect(error?.code == .folder)
    }
  }

  @Test(arguments: ["link", "link/a", "inside/link", "to-inside"])
  func aLinkIsNoFolder(path: String) throws {
    let (folder, elsewhere) = (try TemporaryFolder(), try TemporaryFolder())
    _ = try folder.write([1], to: "inside/x")
    let manager = FileManager.default
    for name in ["link", "inside/link"] {
      try manager.createSymbolicLink(atPath: folder.path(name), withDestinationPath: elsewhere.path(""))
    }
    try manager.createSymbolicLink(atPath: folder.path("to-inside"), withDestinationPath: "inside")
    let folders = OpenFolders(try OutputDirectory(folder.filePath))
    let error = #expect(throws: DownloadError.self) { _ = try folders.directory(of: request(path)) }
    #expect(error?.code == .folder && error?.path == folder.path(path) && error?.isTransient == false)
    #expect(try elsewhere.names().isEmpty)
  }
}
