import Testing

@testable import FileReceiving

@Suite("Whose word counts: one rule for all files that dlm reads (HTTP rules 44, 45)")
struct DistrustTests {
  private static let user: UInt32 = 7
  private static let owners: [UInt32] = [user, 8, 0]

  @Test(
    arguments: [
      (0o100644, 7, nil), (0o100600, 7, nil), (0o100644, 8, .otherUser), (0o100600, 8, .otherUser),
      (0o100644, 0, .otherUser), (0o100664, 7, .othersWrite), (0o100646, 7, .othersWrite),
      (0o010644, 7, .notRegular), (0o040755, 7, .notRegular), (0o120777, 7, .notRegular),
      (0o020666, 7, .notRegular),
    ] as [(UInt32, UInt32, Distrust?)])
  func files(mode: UInt32, owner: UInt32, expected: Distrust?) {
    let file = FileOwnership(owner: owner, mode: mode)
    #expect(Distrust(file, user: Self.user) == expected)
    // The administrator's word counts in addition, and nothing else changes.
    let trusting = Distrust(file, user: Self.user, trustsRoot: true)
    #expect(trusting == (owner == 0 ? nil : expected))
  }

  /// Every owner of a file, in every folder: only the user's own in the user's own that nobody else can write
  /// is believed as dlm's.
  @Test(arguments: [0o700, 0o755, 0o775, 0o777, 0o1777, 0o1700] as [UInt32])
  func filesInFolders(permissions: UInt32) {
    for owner in Self.owners {
      for folderOwner in Self.owners {
        let file = FileOwnership(owner: owner, mode: 0o100600)
        let folder = FileOwnership(owner: folderOwner, mode: 0o040000 | permissions)
        let isClosed = permissions & 0o022 == 0
        let distrust = Distrust(folder: folder, user: Self.user)
        #expect(distrust == (folderOwner != Self.user ? .otherUser : isClosed ? nil : .othersWrite))
        let isBelieved = distrust == nil && Distrust(file, user: Self.user) == nil
        #expect(isBelieved == (owner == Self.user && folderOwner == Self.user && isClosed))
        let trusting =
          Distrust(folder: folder, user: Self.user, trustsRoot: true) == nil
          && Distrust(file, user: Self.user, trustsRoot: true) == nil
        #expect(trusting == (owner != 8 && folderOwner != 8 && isClosed))
      }
    }
  }

  @Test func whatIsNoFolder() {
    #expect(Distrust(folder: FileOwnership(owner: 7, mode: 0o100600), user: 7) == .notRegular)
    #expect(Distrust(folder: FileOwnership(owner: 7, mode: 0o120777), user: 7) == .notRegular)
    // As root, root's files are one's own.
    #expect(Distrust(FileOwnership(owner: 0, mode: 0o100600), user: 0) == nil)
  }
}
