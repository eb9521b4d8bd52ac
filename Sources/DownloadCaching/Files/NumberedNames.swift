import Synchronization

/// What stands in one folder under the numbers of a name: `x`, `x.1`, `x.2`, and which number is the next to try.
///
/// Bounded: what is forgotten is looked for again.
final class NumberedNames: Sendable {
  private struct State {
    // By bytes: to Swift two names of one text in two normal forms are equal, and to the disk they are not.
    /// The next number to try for a name: ten thousand files called index.html must not each walk past all the others.
    var next: [[UInt8]: Int] = [:]
    /// Files from before the run, by name and length, with their numbers.
    var standing: [[UInt8]: [Int64: [Int]]] = [:]
    var kept = 0
  }

  private let state = Mutex(State())
  private let folder: Folder
  private let opened: Int64

  private static let limit = 1024
  private static let keptFiles = 1 << 16
  /// So many numbers in a row that nothing stands under are taken for the end.
  private static let gap = 16

  /// - Parameter opened: when the run began, as files are stamped.
  init(_ folder: Folder, opened: Int64) {
    self.folder = folder
    self.opened = opened
  }

  /// The first number worth trying beside a taken name.
  func first(beside name: String) -> Int { state.withLock { $0.next[Array(name.utf8)] ?? 1 } }

  func took(_ number: Int, beside name: String) {
    state.withLock { state in
      if state.next.count >= Self.limit { state.next.removeAll(keepingCapacity: true) }
      state.next[Array(name.utf8)] = number + 1
    }
  }

  /// The names under which files of that length stood before the run: the name itself and its numbers. Looks at the
  /// disk, once a name.
  func names(of name: String, length: Int64) -> [String] {
    let numbers = state.withLock { $0.standing[Array(name.utf8)]?[length] } ?? look(at: name)[length] ?? []
    return numbers.map { $0 == 0 ? name : FileNaming.alternative(name, $0) }
  }

  private func look(at name: String) -> [Int64: [Int]] {
    if let known = state.withLock({ $0.standing[Array(name.utf8)] }) { return known }
    var found: [Int64: [Int]] = [:]
    var (number, missing, count) = (0, 0, 0)
    while missing < Self.gap {
      let candidate = number == 0 ? name : FileNaming.alternative(name, number)
      // What cannot be looked at is nobody's twin.
      if let there = try? folder.standing(candidate) {
        missing = 0
        if there.identity.isRegularFile, there.changed < opened {
          found[there.identity.size, default: []].append(number)
          count += 1
        }
      } else {
        missing += 1
      }
      number += 1
    }
    let all = found
    state.withLock { state in
      if state.kept + count > Self.keptFiles || state.standing.count >= Self.limit {
        (state.standing, state.kept) = ([:], 0)
      }
      state.standing[Array(name.utf8)] = all
      state.kept += count
    }
    return found
  }
}
