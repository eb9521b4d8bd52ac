/// The names beside a final name under which its bytes wait: `x.part`, its record `x.part.json`, and
/// `x.part.json.new` for the moment in which a record is replaced.
struct PartialName: Sendable, Equatable {
  private let name: String

  init(_ name: String) { self.name = name }

  // Made when asked for: most files are done before they need one.
  var part: String { name + ".part" }
  var record: String { name + Self.recordSuffix }
  var spare: String { name + Self.spareSuffix }

  static let recordSuffix = ".part.json"
  private static let spareSuffix = ".part.json.new"

  /// Whether no finished file may have this name. `x.part` may: a `.part` without a record is never dlm's.
  static func isReserved(_ name: some StringProtocol) -> Bool {
    // Most names end otherwise; the comparison in full, which must hold on disks that fold case, is for few.
    var rest = Substring(name).utf8
    switch (rest.popLast().map { $0 | 0x20 }, rest.popLast().map { $0 | 0x20 }) {
    case (UInt8(ascii: "n"), UInt8(ascii: "o")), (UInt8(ascii: "w"), UInt8(ascii: "e")): break
    default: return false
    }
    let lower = name.lowercased()
    return lower.hasSuffix(recordSuffix) || lower.hasSuffix(spareSuffix)
  }
}
