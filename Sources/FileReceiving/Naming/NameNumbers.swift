package import DownloadModel
import Synchronization

/// Numbers the URLs of a list that give the same name, in the list's order: `README.md?1` becomes `README.md` and
/// `README.md?2` becomes `README.1.md` in every run and mode, whichever answer is first (HTTP rule 22).
package final class NameNumbers: Sendable {
  /// The position of one line among those that give its name.
  package struct Place: Equatable {
    /// The number of different URLs before it that give the same name.
    package var number: Int
    /// Whether the list had the URL before.
    package var isRepeat = false
    /// Whether it had the URL with other header lines: the two answers would overwrite each other under one name.
    var hasOtherHeaders = false
  }

  private let tables = Lock((names: Table(), headers: Table(), hasOthers: false))

  package init() {}

  /// The number of the list's next request.
  package func next(_ request: DownloadRequest) -> Place {
    let name =
      request.outputName.map { Hash.of($0.utf8) }
      ?? FileNaming.hash(ofNameOf: request.address, from: request.provenance)
    let folder = Self.hash(request.folder)
    let address = Hash.of(request.address.resource.utf8)
    let lines = request.headerLines.isEmpty ? 0 : Hash.of(request.headerLines.joined(separator: "\n").utf8)
    return tables.withLock { tables in
      var place = tables.names.next(name: name ^ folder, address: address ^ folder)
      if lines != 0 || place.isRepeat && !tables.headers.isEmpty {
        let headers = tables.headers.next(name: name ^ folder ^ address, address: lines)
        place.hasOtherHeaders = headers.number > 0 || lines != 0 && place.isRepeat && !headers.isRepeat
      }
      // A line of a list at a URL does not displace the user's own line.
      if request.provenance != .user {
        tables.hasOthers = true
      } else if tables.hasOthers {
        place.hasOtherHeaders = false
      }
      return place
    }
  }

  func last(of name: String, in folder: String?) -> Int {
    tables.withLock { $0.names.last(of: Hash.of(name.utf8) ^ Self.hash(folder)) }
  }

  /// Names in different folders are different names.
  private static func hash(_ folder: String?) -> UInt64 { folder.map { Hash.of($0.utf8) } ?? 0 }
}

extension NameNumbers {
  /// The rule of `NameNumbers`, over hashes. A new name takes eight bytes: 32 bits of its hash, in a group that 17
  /// other bits select, and 32 bits of its URL's hash. In one of a thousand lists of a million lines, two names may be
  /// taken for one; the second then gets a number that it does not need, the same in every run. Of four thousand
  /// million lines that give one name, one may be taken for a repeat of the first, and be skipped.
  struct Table {
    /// By the first bits of the hash. Each leaf grows on its own, so that old and new leaves are never in memory
    /// together.
    private var leaves: [[UInt16]] = []
    /// The highest number of each name that occurred again.
    private var last: [UInt64: Int] = [:]
    /// The numbers of the URLs after the first one of their name.
    private var numbers: [UInt64: UInt32] = [:]
    private let limit: Int

    private static let leafBits = 8
    private static let groupBits = 9

    /// - Parameter limit: the number of URLs that are kept. A later URL that occurs twice gets a number each time.
    init(limit: Int = 1 << 16) { self.limit = limit }

    var isEmpty: Bool { leaves.isEmpty }

    func last(of name: UInt64) -> Int { last[name] ?? 0 }

    mutating func next(name: UInt64, address: UInt64) -> Place {
      if leaves.isEmpty { leaves = Array(repeating: [], count: 1 << Self.leafBits) }
      let tag = UInt32(truncatingIfNeeded: address)
      guard let first = Self.first(of: name, tag, in: &leaves[Int(name >> (64 - Self.leafBits))]) else {
        return Place(number: 0)
      }
      if first == tag { return Place(number: 0, isRepeat: true) }
      if let number = numbers[address] { return Place(number: Int(number), isRepeat: true) }
      let number = last[name, default: 0] + 1
      last[name] = number
      if numbers.count < limit { numbers[address] = UInt32(clamping: number) }
      return Place(number: number)
    }

    /// - Parameter leaf: the start of each of its groups of names and the end of the last one; then four words per
    ///   name.
    /// - Returns: the tag with which the name first occurred; `nil` if the name is new, and is now stored.
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
        // It grows seldom: reserved memory that is not used yet takes no space, unlike the holes that growing leaves
        // behind.
        let names = Int(leaf[groups])
        leaf.reserveCapacity(groups + 1 + 4 * ([64, 4096].first { $0 > names } ?? names + names / 8))
      }
      leaf.insert(contentsOf: [high, low, UInt16(tag >> 16), UInt16(truncatingIfNeeded: tag)], at: end)
      for index in group + 1...groups { leaf[index] &+= 1 }
      return nil
    }
  }
}
