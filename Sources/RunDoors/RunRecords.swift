import DownloadModel
import FileReceiving
import Glibc
package import SystemPackage

/// The records of a user's runs: `NUMBER.json` in a private folder. A run holds a lock on its record, which the kernel
/// frees however the process ends, so a record without a lock is that of a run that has ended.
package struct RunRecords: Sendable {
  private let path: FilePath
  /// Finished runs that are kept, those that can be resumed, and how long, in milliseconds.
  private static let mostFinished = 20
  private static let mostResumable = 200
  private static let longest: Int64 = 30 * 24 * 3600 * 1000
  /// A record has the URLs of its command line.
  private static let longestRecord = 8 << 20

  /// - Parameter state: the folder in which the folder of records is.
  package init(below state: FilePath) { path = Self.folder(below: state) }

  package static func folder(below state: FilePath) -> FilePath { state.appending("records") }

  package struct Found: Equatable, Sendable {
    package var record: RunRecord
    package var isAlive: Bool

    /// Whether it ended without a word: by a kill, or with its machine.
    package var hasDied: Bool { !isAlive && record.end == nil }
  }

  /// The runs of this machine, by number.
  package func all() -> [Found] {
    guard access(path.string, F_OK) == 0, let folder = try? Folder(own: path) else { return [] }
    return all(in: folder).filter { $0.record.process.isOnThisMachine }
  }

  private func all(in folder: Folder) -> [Found] {
    let numbers = ((try? folder.names()) ?? []).compactMap(Self.number(of:))
    return numbers.sorted().compactMap { found($0, in: folder) }
  }

  private static func number(of name: String) -> Int? {
    guard name.hasSuffix(".json"), let number = Int(name.dropLast(5)), name == "\(number).json" else { return nil }
    return number
  }

  private func found(_ number: Int, in folder: Folder) -> Found? {
    guard let file = try? folder.openOwn("\(number).json"), let bytes = try? file.read(Self.longestRecord),
      var record = RunRecord(json: bytes.prefix { $0 != .newline })
    else { return nil }
    record.number = number
    // Shared, so that two simultaneous readers do not each take the other for the run.
    let isFree = flock(file.raw, LOCK_SH | LOCK_NB) == 0
    // A file system may have no locks.
    let isAlive = !isFree && (errno == EWOULDBLOCK || record.process.isAlive)
    return Found(record: record, isAlive: isAlive && record.end == nil)
  }

  /// Records a run of this process that begins now. Whoever finds the record finds an open door.
  /// - Parameters:
  ///   - record: with the number of a run that it goes on with, if that has ended; else the next number is its own.
  ///   - runtime: XDG_RUNTIME_DIR.
  package func claim(_ record: RunRecord, runtime: String?) throws(Errno) -> RunClaim {
    let folder = try Folder(own: path)
    let earlier = all(in: folder)
    remove(earlier, from: folder)
    var record = record
    if let resumed = earlier.first(where: { $0.record.number == record.number && !$0.isAlive }),
      let file = try? folder.open("\(record.number).json", O_RDWR), file.lock()
    {
      // Secrets of the earlier run are still missing.
      record.withheld += resumed.record.withheld.filter { !record.withheld.contains($0) }
      return try claim(record, file, runtime)
    }
    record.number = earlier.last?.record.number ?? 0
    while true {
      record.number += 1
      do {
        let file = try folder.open("\(record.number).json", O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        // A reader has it for a moment.
        while !file.lock() { usleep(1000) }
        return try claim(record, file, runtime)
      } catch .fileExists {}
    }
  }

  private func claim(
    _ record: RunRecord, _ file: consuming sending Descriptor, _ runtime: String?
  ) throws(Errno) -> RunClaim {
    let door = try? RunDoor(of: record.number, in: path, runtime: runtime)
    var record = record
    record.door = door?.path.string
    return try RunClaim(record, file, door, in: path)
  }

  private func remove(_ runs: [Found], from folder: Folder) {
    let now = WallClock.milliseconds()
    let ended = runs.filter { !$0.isAlive && $0.record.process.isOnThisMachine }
    for run in ended { run.record.door.map { UnixSocket.remove(FilePath($0)) } }
    let isNew = { (run: Found) in now - (run.record.end?.at ?? run.record.beganAt) < Self.longest }
    let new = ended.filter(isNew)
    let found = new.filter(\.record.isFinished).suffix(Self.mostFinished)
    let open = new.filter { !$0.record.isFinished }.suffix(Self.mostResumable)
    let kept = Set((found + open).map(\.record.number))
    for number in ended.map(\.record.number) where !kept.contains(number) {
      for name in ["\(number).json", "\(number).log", "\(number).log.1"] { try? folder.remove(name) }
    }
  }
}
