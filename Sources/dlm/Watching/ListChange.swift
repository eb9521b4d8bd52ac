import DownloadModel

/// What a changed list means for the lines that were in it: a function of the old lines and the new ones.
///
/// Lines are told apart by what they ask for, not by where they stand: a list that is sorted anew changes
/// nothing. Of equal lines the first ones stay. A line that asks for the same address in another way (another
/// name, another checksum) is the old one, begun anew.
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
    var equal = Places(of: old, Array(same..<old.count), Exactly.init)
    lines =
      (0..<same).map(Line.kept) + new[same...].map { equal.take(Exactly($0)).map(Line.kept) ?? .started }
    removed = equal.left
    if removed.isEmpty { return }
    var alike = Places(of: old, removed) { $0.address.resource }
    for index in lines.indices where lines[index] == .started {
      if let place = alike.take(new[index].address.resource) { lines[index] = .restarted(place) }
    }
    removed = alike.left
  }

  /// Whether it takes something away from the run.
  var loses: Bool { restarted > 0 || !removed.isEmpty }

  var started: Int { lines.count { $0 == .started } }
  var restarted: Int { lines.count { if case .restarted = $0 { true } else { false } } }

  /// A line with its credentials and signatures: with new ones, what the old ones could not get is asked for
  /// again.
  private struct Exactly: Hashable {
    let key: DownloadRequest.Key
    let address: Address
    init(_ key: DownloadRequest.Key) { (self.key, address) = (key, key.address) }
  }

  /// Where old lines stand, by what they are compared by.
  private struct Places<Value: Hashable> {
    private let places: [Int]
    /// For each value, which of the places is the first that nobody has taken.
    private var first: [Value: Int] = [:]
    /// For each of the places, which is the next one of the same value.
    private var next: [Int?]
    private var isTaken: [Bool]

    init(of old: [DownloadRequest.Key], _ places: [Int], _ value: (DownloadRequest.Key) -> Value) {
      self.places = places
      next = Array(repeating: nil, count: places.count)
      isTaken = Array(repeating: false, count: places.count)
      first.reserveCapacity(places.count)
      for index in places.indices.reversed() {
        next[index] = first.updateValue(index, forKey: value(old[places[index]]))
      }
    }

    /// The first place that nobody has taken.
    mutating func take(_ value: Value) -> Int? {
      guard let index = first[value] else { return nil }
      first[value] = next[index]
      isTaken[index] = true
      return places[index]
    }

    /// In order.
    var left: [Int] { zip(places, isTaken).compactMap { $1 ? nil : $0 } }
  }
}
