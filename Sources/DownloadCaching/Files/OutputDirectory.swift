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
  /// Held from the last look at a foreign file to its replacement: of two loops with one name, the second is to see the
  /// first one's file.
  let replacing = Mutex(())
  /// What shows that a part and its record are dlm's own.
  let secret: UserSecret
  /// When it was opened, as files are stamped: what is younger may be this run's own.
  let opened: Int64
  let numbers: NumberedNames
  /// The folder as the user wrote it, with the slash; empty for the current one.
  private let prefix: String
  /// Inodes of files that this run gave to an address and that `isGiven` must tell from others: see there.
  private let given = Mutex<Set<Int64>>([])
  /// Records of partial files: those that earlier runs left, and this one's. They are few, and looking for one
  /// that is not there would cost every file a system call. Nil for a folder too large to be read for them. As bytes: to
  /// Swift, two names of one text in two normal forms are equal, and to the disk they are not.
  private let records: Mutex<Set<[UInt8]>?>

  /// Reading so many names costs some milliseconds, once.
  private static let readable = 10_000

  /// Opens the folder, made if missing.
  /// - Parameters:
  ///   - secret: the user's; without, what another process left is nobody's.
  ///   - usesUnnamedFiles: false to do without them, as on a file system that has none.
  /// - Throws: `.folder` with errno and path.
  init(
    _ path: FilePath, secret: UserSecret = .forThisProcess(), usesUnnamedFiles: Bool = true
  ) throws(DownloadError) {
    self.secret = secret
    let text = path.string
    let isCurrent =
      path.isEmpty || path.removingLastComponent().isEmpty && path.lastComponent?.kind == .currentDirectory
    prefix = isCurrent ? "" : text.utf8.last == UInt8(ascii: "/") ? text : text + "/"
    opened = WallClock.stamp()
    do throws(Errno) {
      folder = try Folder(path.isEmpty ? "." : path, mode: 0o777)
      canonicalPath = try folder.canonicalPath()
      records = Mutex(
        try folder.names(atMost: Self.readable).map { names in
          Set(names.filter(PartialName.isRecord).map { Array($0.utf8) })
        })
    } catch {
      let isShortage = DownloadError.isShortage(error.rawValue)
      throw DownloadError(
        isShortage ? .resources : .folder, cause: .errno(error.rawValue), path: path.string,
        activity: "opening the output folder", isPassing: isShortage)
    }
    numbers = NumberedNames(folder, opened: opened)
    route = usesUnnamedFiles ? folder.routeForUnnamedFiles() : nil
  }

  /// Asked for where a file was a part: the others are made with them.
  var modeOfFinishedFiles: mode_t { folder.modeOfNewFiles() }

  /// A name's path as the user would write it.
  func path(of name: String) -> String { prefix + name }

  /// Whether a record may stand there. One that another process makes from now on is not seen, and not needed:
  /// its part is locked, or its name is found taken when this process wants to show a part of its own.
  func mayHoldRecord(_ names: PartialName) -> Bool {
    records.withLock { records in
      guard let records else { return true }
      return !records.isEmpty && records.contains(Array(names.record.utf8))
    }
  }

  /// The numbers under which records of parts for a name stand: `x.1.bin.part.json` for `x.bin` gives 1, and the name
  /// itself 0.
  func numbersOfRecords(beside name: String) -> [Int] {
    records.withLock { records in
      guard let records, !records.isEmpty else { return [] }
      let (stem, fileExtension) = FileNaming.split(name)
      let (prefix, suffix) = ("\(stem).".utf8, "\(fileExtension)\(PartialName.recordSuffix)".utf8)
      let itself = records.contains(Array(PartialName(name).record.utf8)) ? [0] : []
      return itself
        + records.compactMap { record in
          guard record.count > prefix.count + suffix.count, record.starts(with: prefix),
            record.suffix(suffix.count).elementsEqual(suffix)
          else { return nil }
          let digits = String(decoding: record.dropFirst(prefix.count).dropLast(suffix.count), as: UTF8.self)
          return Int(digits).flatMap { $0 > 0 && String($0) == digits ? $0 : nil }
        }.sorted()
    }
  }

  /// A record was made: a later request for the same file looks for it.
  func noteRecord(_ name: String) { records.withLock { _ = $0?.insert(Array(name.utf8)) } }

  /// A record is gone: memory does not grow with finished files.
  func forgetRecord(_ name: String) { records.withLock { _ = $0?.remove(Array(name.utf8)) } }

  /// This run gave the file to an address.
  ///
  /// Said of files that are not where their number puts them or that were there before, and of all files where a policy
  /// treats foreign files otherwise than by a number: memory does not grow with a usual list.
  func give(_ file: FileIdentity) { given.withLock { _ = $0.insert(file.inode) } }

  /// Whether this run gave the file to an address, as far as it was said.
  func isGiven(_ file: FileIdentity) -> Bool { given.withLock { $0.contains(file.inode) } }

  /// What stands under a name, a dangling symbolic link too; nil if nothing does.
  func standing(_ name: String) throws(DownloadError) -> StandingFile? {
    do throws(Errno) { return try folder.standing(name) } catch {
      throw failure(error, "looking at", name)
    }
  }

  /// Length in bytes of what stands under a name; 0 for anything but a file.
  func size(of name: String) throws(DownloadError) -> Int64 {
    do throws(Errno) { return max(0, try folder.identity(of: name)?.size ?? 0) } catch {
      throw failure(error, "looking at", name)
    }
  }

  /// A failed call on a file of this folder; `.cancelled` for ECANCELED, which says that the task was.
  /// - Parameter needed: bytes that the file lacks, as far as that is known.
  func failure(_ errno: Errno, _ activity: String, _ name: String, needed: Int64? = nil) -> DownloadError {
    if errno == .canceled { return .cancelled }
    let code: DownloadError.Code =
      switch errno {
      case .noSpace, .diskQuotaExceeded: .diskFull
      case .isDirectory: .conflict
      case .permissionDenied, .readOnlyFileSystem, .notPermitted, .noSuchFileOrDirectory: .folder
      case _ where DownloadError.isShortage(errno.rawValue): .resources
      default: .disk
      }
    return DownloadError(
      code, cause: .errno(errno.rawValue), path: path(of: name), activity: activity,
      isPassing: code == .resources,
      neededBytes: code == .diskFull ? needed : nil)
  }
}
