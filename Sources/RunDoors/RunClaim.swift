import DownloadModel
import FileReceiving
import FoundationEssentials
import Synchronization
package import SystemPackage

/// The record of this process's run, locked until the process ends.
package final class RunClaim: Sendable {
  /// Of the records and of the logs of detached runs.
  package let folder: FilePath
  /// `nil` if no place takes a socket.
  package let door: RunDoor?
  private let file: Lock<Held>

  private struct Held: ~Copyable {
    var record: RunRecord
    let file: Descriptor
  }

  init(
    _ record: RunRecord, _ file: consuming sending Descriptor, _ door: RunDoor?, in folder: FilePath
  ) throws(Errno) {
    self.folder = folder
    self.door = door
    try Self.write(record, file)
    self.file = Lock(Held(record: record, file: file))
  }

  package var record: RunRecord { file.withLock { $0.record } }

  package func change(_ body: (inout RunRecord) -> Void) throws(Errno) {
    try file.withLock { held throws(Errno) in
      body(&held.record)
      try Self.write(held.record, held.file)
    }
  }

  private static func write(_ record: RunRecord, _ file: borrowing Descriptor) throws(Errno) {
    // Strings and integers always encode. The line's end is the record's: a longer one may have stood there.
    let json = (try? JSONEncoder().encode(record)).map(Array.init) ?? []
    try file.write(json + [.newline])
  }

  /// The run has ended: its door is gone.
  package func end(_ end: RunRecord.End) throws(Errno) {
    try change { record in
      record.end = end
      record.door = nil
    }
  }
}
