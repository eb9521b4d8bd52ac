import DownloadModel

/// What a changed list means for the lines that were in it: a function of the old lines and the new ones.
///
/// Lines are told apart by what they ask for, not by where they stand: a list that is sorted anew changes nothing. Of
/// equal lines the first ones stay. A line that asks for the same address in another way (another name, another
/// checksum) is the old one, begun anew.
struct ListChange: Equatable {
  /// What a new line is to the old list.
  enum Line: Equatable {
    /// The old line at this place, which goes on undisturbed.
    case kept(Int)
    /// The old line at this place, which ends before the new one begins.
    case restarted(Int)
    case started
  }

  /// For each new line, in order.
  private(set) var lines: [Line]
  /// The places of the old lines that are in the list no more, in order.
  private(set) var removed: [Int]

  init(from old: [DownloadRequest.Key], to new: [DownloadRequest.Key]) {
    // Mostly lines are appended: what is before them need not be looked up.
    let same = zip(old, new).prefix { Exactly($0) == Exactly($1) }.count
    // The places of equal lines, the first one last.
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

  /// A line with its credentials and signatures: with new ones, what the old ones could not get is asked for again.
  struct Exactly: Hashable {
    private let key: DownloadRequest.Key
    private let address: Address

    init(_ key: DownloadRequest.Key) { (self.key, address) = (key, key.address) }
  }
}
