import DownloadModel
import SystemPackage
import TestSupport
import Testing

@testable import FileReceiving

@Suite("The output folder and the calls on it")
struct FolderTests {
  @Test func isMadeWithAllAboveIt() throws {
    let folder = try TemporaryFolder()
    let directory = try OutputDirectory(folder.filePath.appending("a").appending("b").appending("c"))
    #expect(directory.canonicalPath == folder.path + "/a/b/c")
    #expect(directory.path(of: "x") == folder.path + "/a/b/c/x")
    #expect(try folder.names(in: "a/b") == ["c"])
  }

  @Test func isKnownByItsRealPath() throws {
    let folder = try TemporaryFolder()
    try folder.makeFolder("real")
    try folder.link("alias", to: "real")
    let directory = try OutputDirectory(folder.filePath.appending("alias"))
    #expect(directory.canonicalPath == folder.path + "/real")
    #expect(directory.path(of: "x") == folder.path + "/alias/x")
  }

  @Test func thatCannotBeMadeSaysWhyAndWhere() throws {
    let folder = try TemporaryFolder()
    try folder.write("a file", to: "a")
    let path = folder.filePath.appending("a").appending("b")
    let error = #expect(throws: DownloadError.self) { _ = try OutputDirectory(path) }
    #expect(error?.code == .folder && error?.path == path.string)
    #expect(error?.cause == .errno(Errno.notDirectory.rawValue))
    let file = #expect(throws: DownloadError.self) { _ = try OutputDirectory(folder.filePath.appending("a")) }
    #expect(file?.cause == .errno(Errno.notDirectory.rawValue))
  }

  @Test func renamingToAFreeNameNeverReplaces() throws {
    let folder = try TemporaryFolder()
    let opened = try Folder(folder.filePath, mode: 0o700)
    try folder.write("old", to: "a")
    try folder.write("new", to: "b")
    #expect(throws: Errno.fileExists) { try opened.rename("b", toFree: "a") }
    #expect(try folder.text("a") == "old")
    try opened.rename("b", toFree: "c")
    #expect(try folder.text("c") == "new")
    #expect(try folder.names() == ["a", "c"])
  }

  /// The last gate: whatever the rooms before it made of an address, nothing outside of the folder is
  /// touched, nor the folder itself.
  @Test(arguments: [
    "", ".", "..", "/", "../x", "sub/x", "/x", "..//\u{301}x", "sub/\u{301}x", "/\u{301}x", "\u{600}/x",
    "x\0", "\0",
  ])
  func noTextLeadsOutOfIt(name: String) throws {
    let folder = try TemporaryFolder()
    try folder.makeFolder("out")
    try folder.makeFolder("out/sub")
    try folder.write("theirs", to: "x")
    try folder.write("mine", to: "out/y")
    let opened = try Folder(folder.filePath.appending("out"), mode: 0o700)
    #expect(throws: Errno.invalidArgument) { _ = try opened.open(name, 0o102) }
    #expect(throws: Errno.invalidArgument) { _ = try opened.standing(name) }
    #expect(throws: Errno.invalidArgument) { try opened.remove(name) }
    #expect(throws: Errno.invalidArgument) { try opened.rename("y", replacing: name) }
    #expect(throws: Errno.invalidArgument) { try opened.rename(name, replacing: "y") }
    #expect(throws: Errno.invalidArgument) { try opened.rename("y", toFree: name) }
    #expect(throws: Errno.invalidArgument) { try opened.rename(name, toFree: "z") }
    if let route = opened.routeForUnnamedFiles() {
      let file = try opened.openUnnamed()
      #expect(throws: Errno.invalidArgument) { try opened.link(file, as: name, route) }
    }
    #expect(try folder.names() == ["out", "x"] && folder.names(in: "out") == ["sub", "y"])
    #expect(
      try folder.names(in: "out/sub") == [] && folder.text("x") == "theirs" && folder.text("out/y") == "mine")
  }

  @Test(arguments: [Folder.NamingRoute.descriptor, .procfs])
  func unnamedFilesGetAFreeName(route: Folder.NamingRoute) throws {
    let folder = try TemporaryFolder()
    let opened = try Folder(folder.filePath, mode: 0o700)
    // The first route needs a capability or a late kernel, the second only /proc.
    guard let best = opened.routeForUnnamedFiles(), route == .procfs || best == route else { return }
    let file = try opened.openUnnamed()
    try file.write([1, 2, 3])
    #expect(try folder.names() == [])
    try folder.write("old", to: "a")
    #expect(throws: Errno.fileExists) { try opened.link(file, as: "a", route) }
    try opened.link(file, as: "b", route)
    #expect(try folder.read("b") == [1, 2, 3])
  }

  @Test func askingForTheRouteLeavesNothing() throws {
    let folder = try TemporaryFolder()
    _ = try Folder(folder.filePath, mode: 0o700).routeForUnnamedFiles()
    #expect(try folder.names() == [])
  }

  @Test func locksExcludeEachOtherUntilTheDescriptorGoes() throws {
    let folder = try TemporaryFolder()
    try folder.write("", to: "a")
    let opened = try Folder(folder.filePath, mode: 0o700)
    do {
      let first = try opened.open("a", 0)
      let second = try opened.open("a", 0)
      let (one, two) = (first.lock(), second.lock())
      #expect(one && !two)
      first.unlock()
      let freed = second.lock()
      #expect(freed)
    }
    let isFree = try opened.open("a", 0).lock()
    #expect(isFree)
  }

  @Test func reservedNamesAreFreeWhenTheyGo() throws {
    let temporary = try TemporaryFolder()
    let directory = try OutputDirectory(temporary.filePath)
    do {
      let claim = directory.reserve("a")
      let again = directory.reserve("a")
      let (isTaken, isTakenTwice) = (claim != nil, again != nil)
      #expect(isTaken && !isTakenTwice)
    }
    let later = directory.reserve("a")
    let isFree = later != nil
    #expect(isFree)
  }

  @Test func anIdentityTellsChangesAndKinds() throws {
    let folder = try TemporaryFolder()
    try folder.write("one", to: "a")
    let before = try #require(StandingFile.of(path: folder.path + "/a")?.identity)
    #expect(before.isRegularFile && before.size == 3)
    try folder.write("four", to: "a")
    let after = try #require(StandingFile.of(path: folder.path + "/a")?.identity)
    #expect(after != before && after.isSameFile(as: before))
    try folder.link("l", to: "a")
    let link = try #require(StandingFile.of(path: folder.path + "/l")?.identity)
    #expect(!link.isRegularFile && !link.isSameFile(as: link))
    #expect(StandingFile.of(path: folder.path + "/none") == nil)
  }
}
