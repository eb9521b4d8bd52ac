import ArgumentParser
import DownloadModel

/// Which of two values of a setting is the stricter one: a working folder's file may ask for more than its user does,
/// never for less (HTTP rule 45).
enum Strictness: Equatable {
  /// The smaller number; `auto` bounds nothing.
  case less
  /// More proof.
  case proof
  case on, off
  /// None: the user's own holds.
  case own
  /// What keeps the files that dlm did not write, whether or not the user says something.
  case keeping

  /// - Parameter own: the user's own value; nil for none, beside which nothing is looser.
  /// - Returns: false too for what is no value, which is a mistake to be told.
  func isLooser(_ text: String, than own: String?) -> Bool {
    if self == .keeping { return text == "overwrite" && own != "overwrite" }
    guard let own else { return false }
    switch self {
    case .less: return Self.isGreater(text, than: own, by: Self.bound)
    case .proof: return Self.isGreater(own, than: text) { Proof(argument: $0) }
    case .on: return Self.isGreater(own, than: text, by: Self.number(ofFlag:))
    case .off: return Self.isGreater(text, than: own, by: Self.number(ofFlag:))
    case .own: return text != own
    case .keeping: return false
    }
  }

  private static func isGreater<Value: Comparable>(
    _ text: String, than other: String, by value: (String) -> Value?
  ) -> Bool {
    guard let first = value(text), let second = value(other) else { return false }
    return first > second
  }

  private static func number(ofFlag text: String) -> Int? { YesOrNo(argument: text).map { $0.isOn ? 1 : 0 } }

  /// Of `3`, `0.5`, `500K`, `1,4,16` and `auto`.
  private static func bound(_ text: String) -> Double? {
    if let jobs = Jobs(argument: text) {
      return jobs.widths.map { if case .exactly(let number) = $0 { Double(number) } else { .infinity } }.max()
    }
    return Double(text) ?? ByteRate(argument: text).map { Double($0.bytesPerSecond) }
  }
}
