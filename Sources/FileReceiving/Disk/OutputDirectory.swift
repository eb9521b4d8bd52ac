package import DownloadModel
import Synchronization
package import SystemPackage

/// A folder for finished files: the output folder, or one below it (`OpenFolders`).
package final class OutputDirectory: Sendable {
  let folder: Folder
  package let canonicalPath: String
  /// How an unnamed file gets its name here; `nil` if files need a name from the start.
  let route: Folder.NamingRoute?
  /// The names of this process's downloads in flight, so that two URLs with one name do not share a part.
  fileprivate let reserved = Lock<Set<String>>([])
  let space: SpaceReservation.Ledger
  /// Held from the last check of a foreign file to its replacement: the second of two loops sees the file of the first.
  let replacing = Lock(())
  let secret: UserSecret
  /// When it was opened, by the clock that stamps files. A younger file may be this run's own.
  let opened: Int64
  let numbers: NumberedNames
  /// False once the file system has reported that it has no clones, so that not every file tries.
  let mayClone = Atomic<Bool>(true)
  /// The folder as the user wrote it, with the slash; empty for the current one.
  private let prefix: String
  /// Files that this run gave to a URL, where `give` was called.
  private let given = Lock(FileOwners())
  private let metadata = Lock(MetadataNames())
  /// Whether the folder got a number, because a file has the wanted name.
  let isNumbered: Bool
  /// The output folder, if this is a folder below it. It knows the files of the whole run.
  private let root: OutputDirectory?

  /// - Parameters:
  ///   - held: the path by which it is opened; `nil` for `path`, which messages show.
  ///   - secret: the user's; without it, parts of other processes are not recognised.
  ///   - usesUnnamedFiles: false to behave as on a file system without unnamed files.
  /// - Throws: `.folder` with errno and path.
  package init(
    _ path: FilePath, openedAt held: FilePath? = nil, secret: UserSecret = .forThisProcess(),
    usesUnnamedFiles: Bool = true
  ) throws(DownloadError) {
    self.secret = secret
    space = SpaceReservation.Ledger()
    root = nil
    isNumbered = false
    let text = path.string
    let isCurrent =
      path.isEmpty || path.removingLastComponent().isEmpty && path.lastComponent?.kind == .currentDirectory
    prefix = isCurrent ? "" : text.utf8.last == .slash ? text : text + "/"
    opened = WallClock.stamp()
    do {
      folder = try Folder(held ?? (path.isEmpty ? "." : path), mode: 0o777)
      canonicalPath = try folder.canonicalPath()
    } catch { throw DownloadError(.folder, error, path.string, "opening the output folder") }
    numbers = NumberedNames(folder, opened: opened)
    route = usesUnnamedFiles ? folder.routeForUnnamedFiles() : nil
  }

  /// A folder below the output folder. Creates it if it is missing. No part of its path may be a link, which could lead
  /// out.
  /// - Parameters:
  ///   - path: valid by `FileNaming.isUsablePath`.
  ///   - isExact: false to number the folder if a file has its name.
  /// - Throws: `.folder` with errno and path.
  init(_ path: String, below root: OutputDirectory, isExact: Bool) throws(DownloadError) {
    self.root = root
    secret = root.secret
    space = root.space
    opened = root.opened
    var folder = root.folder
    do {
      for segment in path.utf8.split(separator: .slash) {
        let name = String(Substring(segment))
        folder = isExact ? try folder.below(name) : try folder.below(numbering: name)
      }
    } catch .notDirectory {
      throw DownloadError(.folder, "a file or link is in the way", "opening a folder", path: root.path(of: path))
    } catch { throw DownloadError(.folder, error, root.path(of: path), "opening a folder") }
    self.folder = folder
    let place = String(Substring(folder.path.utf8.dropFirst(root.folder.path.utf8.count + 1)))
    isNumbered = !FileNaming.areSame(place, path)
    prefix = "\(root.prefix)\(place)/"
    canonicalPath = (root.canonicalPath.utf8.count > 1 ? root.canonicalPath : "") + "/" + place
    numbers = NumberedNames(folder, opened: opened)
    route = root.route == nil ? nil : folder.routeForUnnamedFiles()
  }

  package func path(of name: String) -> String { prefix + name }

  /// Reserves the name until the reservation is dropped; `nil` if it is already reserved.
  func reserve(_ name: String) -> NameReservation? {
    reserved.withLock { $0.insert(name).inserted } ? NameReservation(name: name, directory: self) : nil
  }

  /// Whether metadata may exist there. Metadata that another process makes later is locked, or is found when a part is
  /// shown.
  func mayHoldMetadata(_ names: PartialName) -> Bool {
    metadata.withLock { metadata in
      metadata.read(in: folder).map { !$0.isEmpty && $0.contains(Array(names.metadata.utf8)) } ?? true
    }
  }

  /// The numbers under which metadata for a name exists: `x.1.bin.part.json` for `x.bin` gives 1, the name itself 0.
  func numbersOfMetadata(beside name: String) -> [Int] {
    metadata.withLock { metadata in
      guard let metadata = metadata.read(in: folder), !metadata.isEmpty else { return [] }
      let (stem, fileExtension) = FileNaming.split(name)
      let prefix = "\(stem).".utf8
      let suffix = "\(fileExtension)\(PartialName.metadataSuffix)".utf8
      let itself = metadata.contains(Array(PartialName(name).metadata.utf8)) ? [0] : []
      return itself
        + metadata.compactMap { metadata in
          guard metadata.count > prefix.count + suffix.count, metadata.starts(with: prefix),
            metadata.suffix(suffix.count).elementsEqual(suffix)
          else { return nil }
          let digits = String(utf8: metadata.dropFirst(prefix.count).dropLast(suffix.count))
          return Int(digits).flatMap { $0 > 0 && String($0) == digits ? $0 : nil }
        }.sorted()
    }
  }

  // Names that were not read yet will be found on the disk.
  func noteMetadata(_ name: String) { metadata.withLock { _ = $0.names?.insert(Array(name.utf8)) } }
  func forgetMetadata(_ name: String) { metadata.withLock { _ = $0.names?.remove(Array(name.utf8)) } }

  /// Names of metadata that earlier runs left or this run wrote, so that not every file asks the disk. The folder is
  /// read once, when the first file is staged.
  private struct MetadataNames {
    private var isRead = false
    /// As bytes, because Swift treats two normal forms of one text as equal, and the disk does not. `nil` until the
    /// folder is read, and if it has too many names.
    var names: Set<[UInt8]>?
    /// Reading this many names takes some milliseconds, once.
    private static let readable = 10_000

    /// - Returns: `nil` if the folder's names are not known.
    mutating func read(in folder: Folder) -> Set<[UInt8]>? {
      if !isRead {
        // Descriptors may be short for a moment: until then, each file's own names are looked up on the disk.
        do {
          names = try folder.names(atMost: Self.readable).map {
            Set($0.filter(PartialName.isMetadata).map { Array($0.utf8) })
          }
        } catch { return nil }
        isRead = true
      }
      return names
    }
  }

  /// Notes that this run gave the file to a URL. Called for files with another number or name than the list gave, for
  /// adopted ones, and, unless the policy is to rename, for all. So memory does not grow with a usual list.
  package func give(_ file: FileIdentity, to key: RowKey) {
    (root ?? self).given.withLock { $0.add(file, of: key) }
  }

  func isGiven(_ file: FileIdentity, besides key: RowKey) -> Bool {
    (root ?? self).given.withLock { $0.isOwned(file, besides: key) }
  }

  package func standing(_ name: String) throws(DownloadError) -> StandingFile? {
    do { return try folder.standing(name) } catch { throw failure(error, "looking at", name) }
  }

  func full(_ name: String, _ reason: String, needed: Int64) -> DownloadError {
    DownloadError(.diskFull, cause: .detail(reason), path: path(of: name), activity: "making room", neededBytes: needed)
  }

  /// A failed call on a file in this folder.
  func failure(_ errno: Errno, _ activity: String, _ name: String, needed: Int64? = nil) -> DownloadError {
    let code: DownloadError.Code =
      switch errno {
      case .noSpace, .diskQuotaExceeded: .diskFull
      case .isDirectory: .conflict
      case .permissionDenied, .readOnlyFileSystem, .notPermitted, .noSuchFileOrDirectory: .folder
      default: .disk
      }
    return DownloadError(code, errno, path(of: name), activity, needed: code == .diskFull ? needed : nil)
  }

  /// A reserved name; dropping the value frees the name on every path through the code.
  struct NameReservation: ~Copyable, Sendable {
    fileprivate let name: String
    fileprivate let directory: OutputDirectory

    deinit { directory.reserved.withLock { _ = $0.remove(name) } }
  }
}

extension DownloadError {
  /// A failed system call on the disk. Temporary if a resource is short for a moment; `.cancelled` for ECANCELED.
  package init(_ code: Code, _ errno: Errno, _ path: String, _ activity: String, needed: Int64? = nil) {
    let isShortage = DownloadError.isShortage(errno.rawValue)
    self.init(
      isShortage ? .resources : code, cause: .errno(errno.rawValue), path: path, activity: activity,
      isTransient: isShortage, neededBytes: needed)
    if errno == .canceled { self = .cancelled }
  }
}

/// The output folder, and the folders below it that requests name, shared by all loops of a run.
package final class OpenFolders: Sendable {
  package let root: OutputDirectory
  private let state = Lock(State())

  private struct State {
    /// Weak, because ten thousand folders would hold as many descriptors.
    var all: [ByteText: Weak] = [:]
    /// Opened last, and kept open because the next lines of a list mostly name the same folders.
    var recent: [OutputDirectory] = []
    var forgetsAt = 1024
  }

  private struct Weak { weak var directory: OutputDirectory? }

  private static let mostRecent = 16

  package init(_ root: OutputDirectory) { self.root = root }

  /// Opens the folder unless it is open. Creates it if it is missing.
  /// - Throws: `.folder` with its path, `.resources`.
  package func directory(of request: DownloadRequest) throws(DownloadError) -> OutputDirectory {
    guard let path = request.folder else { return root }
    return try open(path, isExact: request.outputName != nil)
  }

  @inline(never)
  private func open(_ path: String, isExact: Bool) throws(DownloadError) -> OutputDirectory {
    let key = ByteText(isExact ? path + "\0" : path)
    return try state.withLock { state throws(DownloadError) in
      if let directory = state.all[key]?.directory { return directory }
      let directory = try OutputDirectory(path, below: root, isExact: isExact)
      if state.all.count >= state.forgetsAt {
        state.all = state.all.filter { $0.value.directory != nil }
        state.forgetsAt = max(1024, 2 * state.all.count)
      }
      state.all[key] = Weak(directory: directory)
      if state.recent.count >= Self.mostRecent { state.recent.removeFirst() }
      state.recent.append(directory)
      return directory
    }
  }
}
