import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// The numbered names of a name in one folder, `x`, `x.1`, `x.2`: which are taken, and which number to try next.
/// Entries that it drops are read from the disk again.
final class NumberedNames: Sendable {
  /// The properties that equal files share. Among ten thousand files of one name and length, it finds those worth a
  /// comparison.
  struct Likeness: Hashable {
    let length: Int64
    /// A hash of the first bytes.
    fileprivate let start: Int
  }

  private struct State {
    /// The next number to try for each name. Otherwise each of ten thousand files called index.html would try all of
    /// them.
    var next: [ByteText: Int] = [:]
    /// Files from before the run, by name and likeness, with their numbers in order.
    var standing: [ByteText: [Likeness: [Int]]] = [:]
  }

  private let state = Lock(State())
  private let folder: Folder
  private let opened: Int64

  private static let limit = 1024
  /// The search ends after this many free numbers in a row.
  private static let gap = 16

  init(_ folder: Folder, opened: Int64) {
    self.folder = folder
    self.opened = opened
  }

  func first(beside name: String) -> Int { state.withLock { $0.next[ByteText(name)] ?? 1 } }

  func took(_ number: Int, beside name: String) {
    state.withLock { state in
      if state.next.count >= Self.limit { state.next.removeAll(keepingCapacity: true) }
      state.next[ByteText(name)] = number + 1
    }
  }

  /// The numbers of similar files from before the run; 0 is the name itself. Read once per name.
  func numbers(of name: String, like likeness: Likeness) -> [Int] {
    (state.withLock { $0.standing[ByteText(name)] } ?? look(at: name))[likeness] ?? []
  }

  /// Notes that the file was given to a URL, so that later files are not compared with it again.
  func gave(_ number: Int, of name: String, like likeness: Likeness) {
    state.withLock { state in state.standing[ByteText(name)]?[likeness]?.removeAll { $0 == number } }
  }

  private func look(at name: String) -> [Likeness: [Int]] {
    var found: [Likeness: [Int]] = [:]
    var number = 0
    var missing = 0
    while missing < Self.gap {
      let candidate = FileNaming.alternative(name, number)
      // A file that cannot be examined is not a twin.
      if let there = try? folder.standing(candidate) {
        missing = 0
        if there.identity.isRegularFile, there.changed < opened,
          let likeness = try? folder.open(candidate, O_RDONLY | O_NONBLOCK).likeness(there.identity.size)
        {
          found[likeness, default: []].append(number)
        }
      } else {
        missing += 1
      }
      number += 1
    }
    let all = found
    state.withLock { state in
      if state.standing.count >= Self.limit { state.standing = [:] }
      state.standing[ByteText(name)] = all
    }
    return found
  }
}

extension Descriptor {
  func likeness(_ length: Int64) throws(Errno) -> NumberedNames.Likeness {
    NumberedNames.Likeness(length: length, start: try read(Int(min(length, 4096))).hashValue)
  }
}
