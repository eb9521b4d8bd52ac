import ArgumentParser
import DownloadCaching
import Glibc
import SystemPackage

/// A checksum list from the disk.
enum ChecksumFile {
  /// - Throws: `ExitCode` 66 when it cannot be read, having said why.
  static func read(_ path: String) throws -> ChecksumList {
    let list: ChecksumList
    do {
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec])
      list = ChecksumList(try file.closeAfter { try bytes(of: file) })
    } catch {
      let cause = (error as? Errno).map { "\($0)" } ?? "\(error)"
      StandardError.say(["dlm: \(path) cannot be read: \(cause); name a checksum list as sha256sum writes it"]
      )
      throw ExitCode(ExitStatus.sourceUnreadable.rawValue)
    }
    StandardError.say(list.malformedLines.prefix(5).map { "\(path):\($0): not a checksum line; left out" })
    StandardError.say(
      list.ambiguousNames.prefix(5).map {
        "\(path): \($0) stands there with different checksums; none is used"
      })
    if list.count == 0 {
      StandardError.say(["dlm: \(path) holds no checksum; its lines look like \"HEX  name\""])
      throw ExitCode(ExitStatus.sourceUnreadable.rawValue)
    }
    return list
  }

  private static func bytes(of file: FileDescriptor) throws -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let block = try [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
        count = try file.read(into: UnsafeMutableRawBufferPointer(buffer), retryOnInterrupt: true)
      }
      if block.isEmpty { return all }
      all += block
    }
  }
}
