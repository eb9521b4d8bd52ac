package import Glibc

/// Who owns a file or a folder, and who may write it.
public struct FileOwnership: Sendable, Equatable {
  public var owner: UInt32
  /// Kind and permissions (stat(2), st_mode).
  public var mode: UInt32

  public init(owner: UInt32, mode: UInt32) { (self.owner, self.mode) = (owner, mode) }

  package init(_ status: stat) { self.init(owner: status.st_uid, mode: status.st_mode) }

  fileprivate static let (regular, pipe): (UInt32, UInt32) = (0o100000, 0o010000)
  fileprivate var kind: UInt32 { mode & 0o170000 }
  fileprivate var othersWrite: Bool { mode & 0o022 != 0 }
}

/// Why a file is not believed: who else could have written what it says (HTTP rules 44 and 45).
///
/// | | owner | others may write | its folder |
/// |---|---|---|---|
/// | index, journal, claims, history, secret, store | the user | no | the user's, closed to writers |
/// | settings of the user | the user or root | no | the same, or root's |
/// | what the user names, settings of the working folder | the user, or root | no | any |
///
/// A sticky folder (1777) counts as one that others may write, because everybody can add files to it. For dlm's own
/// files, root is another user unless dlm runs as root.
public enum Distrust: Sendable, Equatable {
  case notRegular, otherUser, othersWrite

  /// - Parameter file: the open file, so that the file that is judged is the one that is read.
  /// - Parameter trustsRoot: whether a file of the administrator is believed as well.
  /// - Parameter orPipe: whether it may be no regular file; a named pipe is then judged as a file is.
  public init?(
    _ file: FileOwnership, in folder: FileOwnership? = nil, user: UInt32, trustsRoot: Bool = false, orPipe: Bool = false
  ) {
    if let folder, let why = Distrust(folder: folder, user: user, trustsRoot: trustsRoot) {
      self = why
    } else if file.kind != FileOwnership.regular, !orPipe {
      self = .notRegular
    } else if [FileOwnership.regular, FileOwnership.pipe].contains(file.kind),
      let why = Self.ofWriters(file, user: user, trustsRoot: trustsRoot)
    {
      self = why
    } else {
      return nil
    }
  }

  /// The same for a folder: `notRegular` is what is none.
  public init?(folder: FileOwnership, user: UInt32, trustsRoot: Bool = false) {
    guard folder.kind == 0o040000 else {
      self = .notRegular
      return
    }
    guard let why = Self.ofWriters(folder, user: user, trustsRoot: trustsRoot) else { return nil }
    self = why
  }

  private static func ofWriters(_ file: FileOwnership, user: UInt32, trustsRoot: Bool) -> Distrust? {
    if file.owner != user, !(trustsRoot && file.owner == 0) { return .otherUser }
    return file.othersWrite ? .othersWrite : nil
  }
}
