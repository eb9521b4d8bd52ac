import DownloadModel
import ArgumentParser
import FileReceiving
import Glibc

/// Where an option can be set besides the command line. From `less` on, a working folder's file may be stricter than
/// its user is, never looser (HTTP rule 45).
enum SettingRule {
  case nowhere
  case anywhere
  /// Not in a working folder: whom dlm trusts, where it writes, and what never ends.
  case byOwner
  /// The smaller number is stricter; `auto` bounds nothing.
  case less
  case proof, on, off
  /// No value is stricter than another: the user's own holds. A working folder names no address that is asked.
  case own
  /// `overwrite` holds only if the user's own file says it too.
  case keeping

  /// Whether the working folder's value holds beside the user's own, if there is one.
  func holds(_ text: String, besides own: String?) -> Bool {
    switch self {
    case .nowhere, .byOwner: return false
    case .anywhere: return true
    case .keeping: return text != "overwrite" || own == "overwrite"
    case .own: return own == nil && !text.contains("://") || text == own
    case .less, .proof, .on, .off:
      // What is no value has to reach the parser, which says so.
      guard let own, let here = looseness(of: text), let bound = looseness(of: own) else { return true }
      return here <= bound
    }
  }

  /// Greater for what is looser; nil for what is no value.
  private func looseness(of text: String) -> Double? {
    switch self {
    case .proof: Proof(argument: text).map { proof in -Double(Proof.allCases.count { $0 < proof }) }
    case .on: YesOrNo(argument: text).map { $0.isOn ? 0 : 1 }
    case .off: YesOrNo(argument: text).map { $0.isOn ? 1 : 0 }
    // `3`, `0.5`, `500K`, `1,4,16` and `auto`.
    default:
      if let jobs = Jobs(argument: text) {
        jobs.widths.map { $0.number.map(Double.init) ?? .infinity }.max()
      } else {
        Double(text) ?? ByteRate(argument: text).map { Double($0.bytesPerSecond) }
      }
    }
  }
}
