import DownloadModel
import TerminalProgress

/// The messages of a run in mode auto about its choice.
enum LessonMessages {
  /// `auto used 32 at once: 64 at once were no faster (1.02 times)`
  /// - Parameter atOnce: the most files that were in progress at a time.
  static func text(_ lesson: WidthLesson, atOnce: Int) -> String {
    var choice = atOnce > 1 ? "up to \(atOnce) at once" : "one at a time"
    if case .noGain(_, let limit, _) = lesson { choice = limit > 1 ? "\(limit) at once" : "one at a time" }
    return "auto used \(choice): \(words(lesson, atOnce).reason)"
  }

  /// For JSON.
  static func word(_ lesson: WidthLesson) -> String { words(lesson, 0).word }

  private static func words(_ lesson: WidthLesson, _ atOnce: Int) -> (reason: String, word: String) {
    switch lesson {
    case .nothing where atOnce > 1: ("too few files to try more", "too-short")
    case .nothing: ("there were no more files", "too-short")
    case .littleWasLeft: ("too little was left for more to help", "little-was-left")
    case .allowed(let gain):
      ("the most allowed, \(times(gain)) as fast as half as many", "as-many-as-allowed")
    case .noGain(let tried, _, let gain) where gain > 1.05:
      ("\(tried) at once were \(times(gain)) as fast, which may be chance", "no-gain")
    case .noGain(let tried, _, let gain): ("\(tried) at once were no faster (\(times(gain)))", "no-gain")
    case .gained(let gain): ("the last doubling was \(times(gain)) as fast", "gained")
    case .slowAnswers: ("answers were slow, so it used the most allowed", "slow-answers")
    case .broke: ("transfers failed, so it used fewer", "transfers-broke")
    }
  }

  private static func times(_ factor: Double) -> String { "\(Quantity.decimal(factor, 100)) times" }
}
