/// The proof that a finished file is complete and correct, from weak to strong (HTTP rule 24).
public enum Proof: String, Sendable, Equatable, Comparable, CaseIterable {
  /// Only the closing connection ended it; a truncated body looks the same (RFC 9112 §8).
  case nothing = "none"
  /// The protocol marked the end: the last chunk of a chunked body. The end of an HTTP/2 stream does not count.
  case framing = "protocol"
  case length
  case digest

  public static func < (left: Proof, right: Proof) -> Bool { left.rank < right.rank }

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
