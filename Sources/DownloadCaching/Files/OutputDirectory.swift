import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// The folder that finished files go to.
final class OutputDirectory: Sendable {
  let folder: Folder
  /// Without links and dots: the index knows the folder by it.
  let canonicalPath: String
  /// How a file gets its name here only when it is ready for it; nil where files need one from the start.
  let route: NamingRoute?
  let claims = NameClaims()
  let space = SpaceLedger()
  /// When it was opened, as files are stamped: what is younger may be this run's own.
  let opened = WallClock.stamp()
  /// The folder as the user wrote it, with the slash; empty for the current one.
  private let prefix: String
  private let numbers = Mutex<[String: Int]>([:])
  /// Records of partial files: those that earlier runs left, and this one's. They are few, and looking for one
  /// that is not there would cost every file a system call. Nil for a folder too large to be read for them.
  private let records: Mutex<Set<String>?>

  /// Reading so many names costs some milliseconds, once.
  private static let readable = 10_000

  /// Opens the folder, made if missing.
  /// - Parameter usesUnnamedFiles: false to do without them, as on a file system that has none.
  /// - Throws: `.folder` with errno and path.
  init(_ path: FilePath, usesUnnamedFiles: Bool = true) throws(DownloadError) {
    prefix = path.isEmpty || path == "." ? "" : path.string.hasSuffix("/") ? path.string : path.string + "/"
    do throws(Errno) {
      folder = try Folder(path.isEmpty ? "." : path, mode: 0o777)
      canonicalPath = try folder.canonicalPath()
      records = Mutex(try folder.names(atMost: Self.readable).map { Set($0.filter(PartialName.isReserved)) })
    } catch {
      throw DownloadError(
        .folder, cause: .errno(error.rawValue), path: path.string, activity: "opening the output folder")
    }
    route = usesUnnamedFiles ? folder.routeForUnnamedFiles() : nil
  }

  /// A name's path as the user would write it.
  func path(of name: String) -> String { prefix + name }

  /// Whether a record may stand there. One that another process makes from now on is not seen, and not needed:
  /// its part is locked, or its name is found taken when this process wants to show a part of its own.
  func mayHoldRecord(_ names: PartialName) -> Bool {
    records.withLock { records in
      guard let records else { return true }
      return !records.isEmpty && records.contains(names.record)
    }
  }

  /// The numbers under which records of parts for a name stand: `x.1.bin.part.json` for `x.bin` gives 1.
  func numbersOfRecords(beside name: String) -> [Int] {
    records.withLock { records in
      guard let records, !records.isEmpty else { return [] }
      let (stem, fileExtension) = FileNaming.split(name)
      let (prefix, suffix) = ("\(stem).", "\(fileExtension)\(PartialName.recordSuffix)")
      return records.compactMap { record in
        guard record.hasPrefix(prefix), record.hasSuffix(suffix) else { return nil }
        let digits = record.dropFirst(prefix.count).dropLast(suffix.count)
        return Int(digits).flatMap { $0 > 0 && $0 < 1000 && String($0) == digits ? $0 : nil }
      }.sorted()
    }
  }

  /// A record was made: a later request for the same file looks for it.
  func noteRecord(_ name: String) { records.withLock { _ = $0?.insert(name) } }

  /// A record is gone: memory does not grow with finished files.
  func forgetRecord(_ name: String) { records.withLock { _ = $0?.remove(name) } }

  /// The first number worth trying for a taken name: ten thousand files called index.html must not each walk
  /// past all the others. Bounded; forgetting costs only the walk.
  func firstNumber(beside name: String) -> Int { numbers.withLock { $0[name] ?? 1 } }

  func took(_ number: Int, beside name: String) {
    numbers.withLock { numbers in
      if numbers.count >= 1024 { numbers.removeAll(keepingCapacity: true) }
      numbers[name] = number + 1
    }
  }

  /// Whether anything stands under a name, a dangling symbolic link too.
  func isTaken(_ name: String) throws(DownloadError) -> Bool {
    do throws(Errno) { return try folder.identity(of: name) != nil } catch {
      throw failure(error, "looking at", name)
    }
  }

  /// Length in bytes of what stands under a name; 0 for anything but a file.
  func size(of name: String) throws(DownloadError) -> Int64 {
    do throws(Errno) { return max(0, try folder.identity(of: name)?.size ?? 0) } catch {
      throw failure(error, "looking at", name)
    }
  }

  /// A failed call on a file of this folder.
  /// - Parameter needed: bytes that the file lacks, as far as that is known.
  func failure(_ errno: Errno, _ activity: String, _ name: String, needed: Int64? = nil) -> DownloadError {
    let code: DownloadError.Code =
      switch errno {
      case .noSpace, .diskQuotaExceeded: .diskFull
      case .isDirectory: .conflict
      case .permissionDenied, .readOnlyFileSystem, .notPermitted, .noSuchFileOrDirectory: .folder
      default: .disk
      }
    return DownloadError(
      code, cause: .errno(errno.rawValue), path: path(of: name), activity: activity,
      neededBytes: code == .diskFull ? needed : nil)
  }
}
