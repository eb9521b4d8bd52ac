import DownloadModel
import ArgumentParser

/// Where an option can be set besides the command line. From `less` on, the file of a working folder may be stricter
/// than the user's own value, never looser (HTTP rule 45).
enum SettingRule {
  case nowhere
  case anywhere
  /// Not in a working folder: settings about trust, output paths, and runs without an end.
  case byOwner
  /// The smaller number is stricter; `auto` means no limit.
  case less
  case proof, on, off
  /// No value is stricter than another: the user's own value applies. A working folder may not name a URL to contact.
  case own
  /// `overwrite` applies only if the user's own file contains it, too.
  case keeping

  /// Whether the working folder's value applies, given the user's own value, if there is one.
  func holds(_ text: String, besides own: String?) -> Bool {
    switch self {
    case .nowhere, .byOwner: return false
    case .anywhere: return true
    case .keeping: return text != "overwrite" || own == "overwrite"
    case .own: return own == nil && !text.contains("://") || text == own
    case .less, .proof, .on, .off:
      // An invalid value must reach the parser, which reports it.
      guard let own, let here = looseness(of: text), let bound = looseness(of: own) else { return true }
      return here <= bound
    }
  }

  /// Greater for looser values; `nil` for an invalid value.
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
