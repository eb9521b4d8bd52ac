import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import FileReceiving

@Suite("The user's secret: by it dlm knows its own again (HTTP rule 44)")
struct UserSecretTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func status(_ name: String) throws -> stat {
    var status = stat()
    guard lstat(folder.path(name), &status) == 0 else { throw Errno(rawValue: errno) }
    return status
  }

  @Test func isMadeWhenItIsNeededOnceAndPrivate() throws {
    let place = folder.filePath.appending("cache")
    let secret = UserSecret(in: place)
    #expect(try folder.names() == [], "nobody asked for it")
    let tag = secret.tag("a", "x")
    #expect(tag.utf8.count == 32)
    #expect(UserSecret(in: place).tag("a", "x") == tag)
    #expect(secret.tag("b", "x") != tag && secret.tag("a", "y") != tag)
    #expect(try folder.names(in: "cache") == [UserSecret.fileName])
    #expect(try folder.read("cache/\(UserSecret.fileName)").count == 32)
    #expect(try status("cache/\(UserSecret.fileName)").st_mode & 0o777 == 0o600)
    #expect(secret.takeFailure() == nil)
  }

  @Test func manyAtOnceAgree() async throws {
    let place = folder.filePath
    let tags = await withTaskGroup(of: String.self) { group in
      for _ in 0..<16 { group.addTask { UserSecret(in: place).tag("a", "x") } }
      return await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(tags.count == 1)
    #expect(try folder.names() == [UserSecret.fileName])
  }

  /// A process that was killed between naming its draft and removing the draft's name once left a secret that no later
  /// run trusted: each went without the cache, for ever.
  @Test func oneOfAKilledProcessIsTrusted() throws {
    let tag = UserSecret(in: folder.filePath).tag("a", "x")
    #expect(link(folder.path(UserSecret.fileName), folder.path("\(UserSecret.fileName).draft")) == 0)
    let next = UserSecret(in: folder.filePath)
    #expect(next.tag("a", "x") == tag && next.takeFailure() == nil)
  }

  /// What others could have written, or read, is no secret: it is left as it is, and one of this process
  /// serves.
  @Test(arguments: [0o666, 0o644, 0o620] as [mode_t])
  func oneThatOthersKnowIsNone(mode: mode_t) throws {
    let planted = Array(repeating: UInt8(7), count: 32)
    try folder.write(planted, to: UserSecret.fileName)
    #expect(chmod(folder.path(UserSecret.fileName), mode) == 0)
    let secret = UserSecret(in: folder.filePath)
    #expect(secret.key != planted)
    #expect(secret.takeFailure() == .notPermitted && secret.takeFailure() == nil)
    #expect(try folder.read(UserSecret.fileName) == planted)
  }

  @Test func oneOfAnotherKindIsNone() throws {
    try folder.write(Array(repeating: 7, count: 32), to: "elsewhere")
    try folder.link(UserSecret.fileName, to: "elsewhere")
    let secret = UserSecret(in: folder.filePath)
    _ = secret.key
    #expect(secret.takeFailure() == .tooManySymbolicLinkLevels)
    try folder.remove(UserSecret.fileName)
    try folder.write([1, 2, 3], to: UserSecret.fileName)
    #expect(chmod(folder.path(UserSecret.fileName), 0o600) == 0)
    let short = UserSecret(in: folder.filePath)
    _ = short.key
    #expect(short.takeFailure() == .invalidArgument)
    #expect(try folder.read(UserSecret.fileName) == [1, 2, 3])
  }
}
