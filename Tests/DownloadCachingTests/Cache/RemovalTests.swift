import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

@Suite("What dlm clear-cache removes from the user's folders, and what it must not")
struct RemovalTests {
  private let folder: TemporaryFolder
  private let secret = UserSecret.forThisProcess()

  init() throws { folder = try TemporaryFolder() }

  private func row(_ name: String = "x") throws -> CacheRow {
    try folder.write("ours", to: name)
    var row = RowBatchTests.row(name, directory: folder.path)
    try row.describeStanding()
    return row
  }

  @Test func anUntouchedFileGoes() throws {
    let file = WrittenFile(row: try row(), secret: secret)
    #expect(try file.remove() == (try FileIdentity.blocks(4)))
    #expect(try folder.names() == [])
    #expect(try file.remove() == nil)
  }

  /// Another program writes between the look at the file and its removal.
  @Test(arguments: ["replaced", "written", "touched", "gone", "folder", "link"])
  func aFileThatChangesMeanwhileStays(change: String) throws {
    let row = try row()
    try folder.write("theirs", to: "other")
    let removal = try WrittenFile(row: row, secret: secret).remove {
      switch change {
      case "replaced": rename(folder.path("other"), folder.path("x"))
      case "written": try? folder.write("theirs", to: "x")
      case "touched": utimes(folder.path("x"), nil)
      case "gone": unlink(folder.path("x"))
      case "folder":
        unlink(folder.path("x"))
        mkdir(folder.path("x"), 0o755)
      default:
        unlink(folder.path("x"))
        symlink("other", folder.path("x"))
      }
    }
    #expect(removal == nil)
    switch change {
    case "replaced":
      #expect(try folder.names() == ["x"])
      #expect(try folder.text("x") == "theirs")
    case "gone": #expect(try folder.names() == ["other"])
    default: #expect(try folder.names() == ["other", "x"])
    }
    if change == "written" { #expect(try folder.text("x") == "theirs") }
    if change == "touched" { #expect(try folder.text("x") == "ours") }
    if change == "link" { #expect(try folder.text("x") == "theirs") }
  }

  /// Killed between renaming and removing: the next one finds what is under the private name.
  @Test(arguments: [true, false])
  func aKilledRemovalIsEnded(isOurs: Bool) throws {
    let row = try row()
    let tag = secret.tag("file to be removed", folder.path + "\0x")
    #expect(rename(folder.path("x"), folder.path(".dlm-\(tag)")) == 0)
    if !isOurs {
      #expect(unlink(folder.path(".dlm-\(tag)")) == 0)
      try folder.write("theirs, and long", to: ".dlm-\(tag)")
      try folder.write("a new one", to: "x")
    }
    let removal = try WrittenFile(row: row, secret: secret).remove()
    #expect(removal == (isOurs ? try FileIdentity.blocks(4) : nil))
    #expect(try folder.names() == (isOurs ? [] : ["x", "x.1"]))
    if !isOurs { #expect(try folder.text("x.1") == "theirs, and long") }
  }

  /// A part is removed only with metadata that bears the user's seal, and only where nobody has it open.
  @Test func partsOfOthersStay() throws {
    func metadata(_ secret: UserSecret, _ address: String = "http://host/x") -> [UInt8] {
      ResumeMetadata(
        address: address, held: HeldPart(total: 10), name: "x"
      ).json(secret)
    }
    for name in ["ours", "locked", "forged", "open", "other"] { try folder.write("part", to: "\(name).part") }
    for name in ["ours", "locked", "alone", "taken"] {
      try folder.write(metadata(secret), to: "\(name).part.json")
    }
    try folder.write(metadata(.forThisProcess()), to: "forged.part.json")
    try folder.write(metadata(secret), to: "open.part.json")
    #expect(chmod(folder.path("open.part"), 0o666) == 0)
    try folder.write(metadata(secret, "http://host/other"), to: "other.part.json")
    try folder.link("linked.part.json", to: "ours.part.json")
    try folder.write("", to: PartialName("ours").draft(secret, 0))
    let within = try Folder(folder.filePath, mode: 0o700)
    let lock = try within.open("locked.part", O_RDONLY)
    let isLocked = lock.lock()
    let record = try within.open("taken.part.json", O_RDONLY)
    let isTaken = record.lock()
    #expect(isLocked && isTaken)

    let files = try UnfinishedFiles(in: folder.filePath, secret)
    #expect(try files.found().map { $0.path.lastComponent?.string }.count == 4)
    let removed = try files.remove { $0 == "http://host/x" }
    #expect(removed.parts == 1 && removed.partsInUse == 2)
    #expect(
      try folder.names() == [
        "forged.part", "forged.part.json", "linked.part.json", "locked.part", "locked.part.json", "open.part",
        "open.part.json", "other.part", "other.part.json", "taken.part.json",
      ])
    lock.unlock()
    record.unlock()
  }

  /// Killed between the link and the unlink that stand in for a rename: the finished file has both names.
  @Test func aFinishedFileIsNoPart() throws {
    try folder.write("whole", to: "x")
    try folder.hardLink("x", as: "x.part")
    let metadata = ResumeMetadata(
      address: "http://host/x", held: HeldPart(total: 5), name: "x")
    try folder.write(metadata.json(secret), to: "x.part.json")
    _ = try UnfinishedFiles(in: folder.filePath, secret).remove { _ in true }
    #expect(try folder.names() == ["x"])
    #expect(try folder.text("x") == "whole")
  }
}

extension FileIdentity {
  /// What a small file takes on the disk on which tests run.
  fileprivate static func blocks(_ bytes: Int) throws -> Int64 {
    let folder = try TemporaryFolder()
    try folder.write([UInt8](repeating: 1, count: bytes), to: "x")
    return try Folder(standing: folder.filePath).allocatedBytes(of: "x")
  }
}
