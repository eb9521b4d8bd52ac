public import DownloadModel

/// What is measured side by side: a mode, and where several widths of it are asked for, one of those.
public struct ComparedMode: Sendable, Hashable {
  public let mode: DownloadMode
  /// Files at a time; nil for the run's own setting, and for sequential, which has one.
  public let jobs: Int?

  public init(_ mode: DownloadMode, jobs: Int? = nil) {
    self.mode = mode
    self.jobs = mode == .sequential ? nil : jobs
  }

  public static let sequential = ComparedMode(.sequential)
  public static let asyncLet = ComparedMode(.asyncLet)
  public static let parallel = ComparedMode(.parallel)

  /// As its options are typed: `parallel`, `parallel -j 16`.
  public var name: String { jobs.map { "\(mode.rawValue) -j \($0)" } ?? mode.rawValue }

  /// Every mode at every width, sequential once; equal ones count once.
  /// - Parameter widths: nil for one that a run finds out; the only one is every run's own, and needs no name.
  public static func all(_ modes: [DownloadMode], widths: [Int?]) -> [ComparedMode] {
    var all: [ComparedMode] = []
    for mode in modes {
      for mode in widths.count < 2 ? [ComparedMode(mode)] : widths.map({ ComparedMode(mode, jobs: $0) })
      where !all.contains(mode) { all.append(mode) }
    }
    return all
  }
}

extension ComparedMode: Comparable {
  /// As a report lists them: by mode, then by width, a run's own width last.
  public static func < (left: ComparedMode, right: ComparedMode) -> Bool {
    func rank(_ mode: ComparedMode) -> (Int, Int) {
      (DownloadMode.allCases.firstIndex(of: mode.mode) ?? 0, mode.jobs ?? .max)
    }
    return rank(left) < rank(right)
  }
}
