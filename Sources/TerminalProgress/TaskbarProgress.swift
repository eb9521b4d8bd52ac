/// Progress on the taskbar or tab of terminals that show it (ConEmu's `OSC 9;4`).
enum TaskbarProgress: Sendable, Equatable {
  case hidden
  /// Under way, how far is not known.
  case busy
  case percent(Int)
  /// As far as that, and something failed.
  case failing(Int)

  init(fraction: Double?, failed: Int) {
    guard let fraction else {
      self = .busy
      return
    }
    let percent = Int(min(max(fraction, 0), 1) * 100)
    self = failed > 0 ? .failing(percent) : .percent(percent)
  }

  var sequence: String {
    switch self {
    case .hidden: "\u{1B}]9;4;0;0\u{1B}\\"
    case .percent(let percent): "\u{1B}]9;4;1;\(percent)\u{1B}\\"
    case .failing(let percent): "\u{1B}]9;4;2;\(percent)\u{1B}\\"
    case .busy: "\u{1B}]9;4;3;0\u{1B}\\"
    }
  }
}
