import DownloadModel
import TerminalProgress

/// What a run in mode auto says of its choice.
enum LessonMessages {
  /// `auto chose a task group of 32: 64 at a time brought no more (1.02 times)`
  /// - Parameter atOnce: the most files that were under way at a time.
  static func text(_ lesson: WidthLesson, atOnce: Int) -> String {
    var choice = atOnce > 1 ? "a task group of up to \(atOnce)" : "one after the other"
    if case .noGain(_, let limit, _) = lesson {
      choice = limit > 1 ? "a task group of \(limit)" : "one after the other"
    }
    return "auto chose \(choice): \(reason(lesson, atOnce))"
  }

  private static func reason(_ lesson: WidthLesson, _ atOnce: Int) -> String {
    switch lesson {
    case .nothing where atOnce > 1: "the list was over before more could show a gain"
    case .nothing: "there was no more to do at a time"
    case .littleWasLeft: "more would not have paid for what was left"
    case .allowed(let gain): "as many as may be, which brought \(times(gain)) what half as many did"
    case .noGain(let tried, _, let gain) where gain > 1.05:
      "\(tried) at a time brought \(times(gain)) as much, which may be chance"
    case .noGain(let tried, _, let gain): "\(tried) at a time brought no more (\(times(gain)))"
    case .gained(let gain): "the last doubling brought \(times(gain)) as much"
    case .slowAnswers: "answers took their time, so as many as may be were asked for at once"
    case .broke: "transfers broke, so it took fewer"
    }
  }

  private static func times(_ factor: Double) -> String { "\(Quantity.decimal(factor, 100)) times" }

  /// The word for it in JSON.
  static func word(_ lesson: WidthLesson) -> String {
    switch lesson {
    case .nothing: "too-short"
    case .littleWasLeft: "little-was-left"
    case .allowed: "as-many-as-allowed"
    case .noGain: "no-gain"
    case .gained: "gained"
    case .slowAnswers: "slow-answers"
    case .broke: "transfers-broke"
    }
  }
}
