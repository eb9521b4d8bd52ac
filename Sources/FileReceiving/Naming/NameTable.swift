import DownloadModel
import Glibc
import Synchronization

/// The rule of `NameNumbers`, over hashes. A name that comes for the first time takes eight bytes: thirty-two bits of
/// its hash, in a group that seventeen others select, and as many of its address's. In one of a thousand lists of a
/// million lines two names may be taken for one; the second then gets a number that it does not need, the same in every
/// run. Of four thousand million lines that give one name, one may be taken for the first again, and be left out.
struct NameTable {
  /// By the first bits of the hash. Each grows for itself, so that old and new never stand in memory together.
  private var leaves: [[UInt16]] = []
  /// The highest number of each name that came again.
  private var last: [UInt64: Int] = [:]
  /// The numbers of the addresses that came behind the first one of their name.
  private var numbers: [UInt64: UInt32] = [:]
  private let limit: Int

  private static let leafBits = 8
  private static let groupBits = 9

  /// - Parameter limit: addresses that are kept; later ones, when they come twice, get a number each time.
  init(limit: Int = 1 << 16) { self.limit = limit }

  var isEmpty: Bool { leaves.isEmpty }

  func last(of name: UInt64) -> Int { last[name] ?? 0 }

  mutating func next(name: UInt64, address: UInt64) -> NameNumbers.Place {
    if leaves.isEmpty { leaves = Array(repeating: [], count: 1 << Self.leafBits) }
    let tag = UInt32(truncatingIfNeeded: address)
    guard let first = Self.first(of: name, tag, in: &leaves[Int(name >> (64 - Self.leafBits))]) else {
      return NameNumbers.Place(number: 0, isRepeat: false)
    }
    if first == tag { return NameNumbers.Place(number: 0, isRepeat: true) }
    if let number = numbers[address] { return NameNumbers.Place(number: Int(number), isRepeat: true) }
    let number = last[name, default: 0] + 1
    last[name] = number
    if numbers.count < limit { numbers[address] = UInt32(clamping: number) }
    return NameNumbers.Place(number: number, isRepeat: false)
  }

  /// - Parameter leaf: where each of its groups of names begins, and the last one ends; then four words a name.
  /// - Returns: the tag that the name came with first; nil if it is new, and is now here.
  private static func first(of name: UInt64, _ tag: UInt32, in leaf: inout [UInt16]) -> UInt32? {
    let groups = 1 << groupBits
    if leaf.isEmpty { leaf = [UInt16](repeating: 0, count: groups + 1) }
    let group = Int(name >> (64 - leafBits - groupBits)) & (groups - 1)
    let high = UInt16(truncatingIfNeeded: name >> 16)
    let low = UInt16(truncatingIfNeeded: name)
    let start = groups + 1 + 4 * Int(leaf[group])
    let end = groups + 1 + 4 * Int(leaf[group + 1])
    for slot in stride(from: start, to: end, by: 4) where leaf[slot] == high && leaf[slot + 1] == low {
      return UInt32(leaf[slot + 2]) << 16 | UInt32(leaf[slot + 3])
    }
    // In a list of more than sixteen million lines, further names are forgotten.
    guard leaf[groups] < .max else { return nil }
    if leaf.count + 4 > leaf.capacity {
      // It grows seldom: room that is not used yet takes no memory, unlike the holes that are left behind.
      let names = Int(leaf[groups])
      leaf.reserveCapacity(groups + 1 + 4 * ([64, 4096].first { $0 > names } ?? names + names / 8))
    }
    leaf.insert(contentsOf: [high, low, UInt16(tag >> 16), UInt16(truncatingIfNeeded: tag)], at: end)
    for index in group + 1...groups { leaf[index] &+= 1 }
    return nil
  }
}
