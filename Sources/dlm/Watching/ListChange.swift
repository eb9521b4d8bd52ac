import DownloadModel

/// The effect of a changed list on its old lines. Lines are identified by their requests, not by their position; of
/// equal ones the first stay. The same URL with another name or checksum is the old line, restarted.
struct ListChange: Equatable {
  enum Line: Equatable {
    /// Index of the old line, which continues undisturbed.
    case kept(Int)
    /// Index of the old line, which ends before the new one starts.
    case restarted(Int)
    case started
  }

  /// For each new line, in order.
  private(set) var lines: [Line]
  /// Indices of old lines that are no longer in the list, in order.
  private(set) var removed: [Int]

  init(from old: [DownloadRequest.Key], to new: [DownloadRequest.Key]) {
    // Usually lines are appended; those before them need no table.
    let same = zip(old, new).prefix { Exactly($0) == Exactly($1) }.count
    // Indices of equal lines, the first one last.
    var equal = Dictionary(grouping: (same..<old.count).reversed()) { Exactly(old[$0]) }
    lines = (0..<same).map(Line.kept)
    lines += new[same...].map { equal[Exactly($0)]?.popLast().map(Line.kept) ?? .started }
    removed = equal.values.joined().sorted()
    if removed.isEmpty { return }
    var alike = Dictionary(grouping: removed.reversed()) { old[$0].address.resource }
    for index in lines.indices where lines[index] == .started {
      if let place = alike[new[index].address.resource]?.popLast() { lines[index] = .restarted(place) }
    }
    removed = alike.values.joined().sorted()
  }

  var started: Int { lines.count { $0 == .started } }
  var restarted: Int { lines.count { if case .restarted = $0 { true } else { false } } }

  /// With credentials, signatures and the declared size: if they change, failed lines are tried again.
  struct Exactly: Hashable {
    private let key: DownloadRequest.Key
    private let address: Address
    private let size: Int64?

    init(_ key: DownloadRequest.Key) {
      self.key = key
      address = key.address
      size = key.wishes?.size
    }
  }
}
