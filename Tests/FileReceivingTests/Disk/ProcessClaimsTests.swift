import DownloadModel
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import FileReceiving

/// Each `ProcessClaims` opens the file anew, and its locks belong to that opening: to the others it is
/// another process.
@Suite("What another process has under way is not begun a second time (HTTP rule 19)")
struct ProcessClaimsTests {
  private func isTaken(_ claim: consuming ProcessClaims.Claim?) -> Bool { claim != nil }

  private func canTake(_ hash: UInt64, _ claims: ProcessClaims) -> Bool { isTaken(try? claims.take(hash)) }

  @Test func oneHasItUntilTheClaimIsGone() throws {
    let folder = try TemporaryFolder()
    let first = try #require(ProcessClaims(in: folder.filePath))
    let second = try #require(ProcessClaims(in: folder.filePath))
    do {
      let claim = try first.take(7)
      #expect(!canTake(7, second))
      // The refusal says who has it: asked for in a second step, the other could be done by then.
      let refusal = #expect(throws: ProcessClaims.ClaimedElsewhere.self) { _ = try second.take(7) }
      #expect(refusal?.process == Int(getpid()))
      #expect(canTake(9, second))
      let isMine = isTaken(claim)
      #expect(isMine)
    }
    #expect(canTake(7, second))
    #expect(canTake(7, first))
  }

  /// What one books, the others book behind; another account has its own time.
  @Test func timeIsBookedTogether() throws {
    let folder = try TemporaryFolder()
    let first = try #require(ProcessClaims(in: folder.filePath))
    let second = try #require(ProcessClaims(in: folder.filePath))
    let now: UInt64 = 1_000_000_000_000
    #expect(first.book(5, of: 77, from: now, within: 1000) == now)
    #expect(second.book(5, of: 77, from: now, within: 1000) == now + 5)
    #expect(second.book(5, of: 78, from: now, within: 1000) == now)
    #expect(first.book(5, of: 77, from: now, within: 1000) == now + 10)
    #expect(first.book(5, of: 77, from: now + 1000, within: 1000) == now + 1000)
  }

  /// A run at one request a day held up all later ones at any rate, long after its end.
  @Test func whatWasBookedAtALowerLimit() throws {
    let claims = try #require(ProcessClaims(in: TemporaryFolder().filePath))
    let now: UInt64 = 1_000_000_000_000
    #expect(claims.book(86_400_000_000_000, of: 77, from: now, within: 1 << 60) == now)
    #expect(claims.book(5, of: 77, from: now + 1, within: 160) == now + 161)
    #expect(claims.book(5, of: 77, from: now + 1, within: 160) == now + 161, "at most so long for all")
  }

  /// A place that nobody has used for a while is another account's; while all are in use, there is none.
  @Test func accountsThatAreFull() throws {
    let folder = try TemporaryFolder()
    let claims = try #require(ProcessClaims(in: folder.filePath))
    let now: UInt64 = 1_000_000_000_000
    let booked = (UInt64(1)...2000).count { claims.book(1, of: $0, from: now, within: 1000) != nil }
    #expect(booked > 150 && booked < 300)
    let later = now + 120_000_000_000
    #expect((UInt64(5000)...5100).allSatisfy { claims.book(1, of: $0, from: later, within: 1000) != nil })
  }

  /// A process that was killed leaves its slots filled; its lock is gone.
  @Test func aDeadProcessHasNothing() throws {
    let folder = try TemporaryFolder()
    let living = try #require(ProcessClaims(in: folder.filePath))
    let raw = open(folder.path("under-way"), O_RDWR)
    try #require(raw >= 0)
    let file = Descriptor(raw)
    func write(_ word: UInt64, at index: Int) throws {
      var offset = Int64(index * 8)
      try withUnsafeBytes(of: word) { bytes in try file.write(bytes, at: &offset) }
    }
    try write(2, at: 1)  // segments that were ever in use
    try write(7, at: 512 + 2560)  // its first slot
    #expect(canTake(7, living))
    // Its successor in the segment does not have it either.
    let successor = try #require(ProcessClaims(in: folder.filePath))
    #expect(canTake(7, living))
    #expect(canTake(7, successor))
  }

  @Test func moreThanASegmentHolds() throws {
    let folder = try TemporaryFolder()
    let claims = try #require(ProcessClaims(in: folder.filePath))
    var taken = 0
    func nest(_ depth: UInt64) {
      if depth == 600 { return }
      let answer = try? claims.take(depth * 2 + 1)
      nest(depth + 1)
      if isTaken(answer) { taken += 1 }
    }
    nest(0)
    #expect(taken == 600)
  }

  /// Notes of hosts are as claims are: seen by the others, and gone with their process.
  @Test func whatIsToldOfAHost() throws {
    let folder = try TemporaryFolder()
    let first = try #require(ProcessClaims(in: folder.filePath))
    let host = first.number(of: "example.org:8080")
    first.tell(SIMD8(host, 1, 0, 0, 0, 0, 0, 0))
    do {
      let second = try #require(ProcessClaims(in: folder.filePath))
      #expect(second.notes(of: host) == nil, "it has told nothing yet")
      #expect(second.number(of: "example.org:8080") == host)
      let (own, others) = (SIMD8(host, 2, 3, 4, 5, 6, 7, 8), SIMD8(host, 1, 0, 0, 0, 0, 0, 0))
      second.tell(own)
      first.tell(others)
      let seen = try #require(first.notes(of: host)), also = try #require(second.notes(of: host))
      #expect(seen.all == [others, own] && seen.own == 0)
      #expect(also.all == seen.all && also.own == 1)
    }
    #expect(first.notes(of: host)?.all.count == 1)
    let third = try #require(ProcessClaims(in: folder.filePath))
    third.tell(SIMD8(host &+ 2, 1, 0, 0, 0, 0, 0, 0))
    #expect(first.notes(of: host)?.all.count == 1, "the successor has nothing of it")
  }

  @Test func moreHostsThanThereIsRoomFor() throws {
    let folder = try TemporaryFolder()
    let claims = try #require(ProcessClaims(in: folder.filePath))
    // All of one place; the first needs its note no more.
    for index in UInt64(0)..<5 { claims.tell(SIMD8(1 + index * 64, min(index, 1), index, 0, 0, 0, 0, 0)) }
    #expect((0..<5).map { claims.notes(of: 1 + $0 * 64)?.all.first?[2] } == [nil, 1, 2, 3, 4])
    claims.tell(SIMD8(1 + 5 * 64, 1, 0, 0, 0, 0, 0, 0))
    #expect(claims.notes(of: 1 + 5 * 64) == nil)
  }

  /// Two at once, many times: never both have it, and it is not lost for both for good.
  @Test func neverBoth() async throws {
    let folder = try TemporaryFolder()
    let all = try (0..<4).map { _ in try #require(ProcessClaims(in: folder.filePath)) }
    let inside = Counter()
    await withTaskGroup { group in
      for claims in all {
        group.addTask {
          for round in 0..<20_000 {
            guard let claim = try? claims.take(UInt64(round % 3 * 2 + 1)) else { continue }
            inside.enter(round % 3)
            inside.leave(round % 3)
            _ = consume claim
          }
        }
      }
    }
    #expect(inside.most == 1)
    #expect(inside.entered > 1000)
  }

  /// A table that others can write is none of ours.
  @Test func aSharedFileIsNotTrusted() throws {
    let folder = try TemporaryFolder()
    try folder.write([], to: "under-way")
    chmod(folder.path("under-way"), 0o666)
    #expect(ProcessClaims(in: folder.filePath) == nil)
  }
}

/// Who is inside, by request.
private final class Counter: Sendable {
  private let state = Lock<(inside: [Int: Int], most: Int, entered: Int)>(([:], 0, 0))

  func enter(_ request: Int) {
    state.withLock { state in
      state.inside[request, default: 0] += 1
      state.most = max(state.most, state.inside[request] ?? 0)
      state.entered += 1
    }
  }
  func leave(_ request: Int) { state.withLock { $0.inside[request, default: 0] -= 1 } }
  var most: Int { state.withLock { $0.most } }
  var entered: Int { state.withLock { $0.entered } }
}
