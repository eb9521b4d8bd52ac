/// What one loop remembers of hosts while requests wait for the first answer of their connections.
struct UnansweredWatch {
  /// Whether any request waits so.
  private(set) var isOn = false
  private var isJudging = false
  private var marks: [String: OvertakenRule.Mark] = [:]
  private var answers: [String: Int] = [:]
  private var firstAnswers: [String: UInt64] = [:]
  /// Hosts of which a first answer is remembered; memory does not grow with their number.
  private static let mostHosts = 1024

  /// - Parameter hosts: those of requests that have waited for long.
  mutating func set(isOn: Bool, hosts: [String: UInt64]) {
    self.isOn = isOn
    if !marks.isEmpty { marks = marks.filter { hosts[$0.key] != nil } }
    if !isOn, !answers.isEmpty { answers = [:] }
  }

  /// - Returns: false while what was found before is still being judged.
  mutating func begin() -> Bool {
    defer { isJudging = true }
    return !isJudging
  }

  mutating func end() { isJudging = false }

  /// A transfer to a host ended with an answer.
  mutating func count(_ host: String) { answers[host, default: 0] += 1 }

  /// The first answer of a connection.
  /// - Parameter time: that it took, in nanoseconds.
  mutating func answered(_ host: String, after time: UInt64) {
    guard firstAnswers.count < Self.mostHosts || firstAnswers[host] != nil else { return }
    firstAnswers[host] = max(firstAnswers[host] ?? 0, time)
  }

  func answers(of host: String) -> Int { answers[host] ?? 0 }
  func firstAnswer(of host: String) -> UInt64 { firstAnswers[host] ?? 0 }
  func mark(_ host: String) -> OvertakenRule.Mark? { marks[host] }

  /// Remembers what is known now, to compare it with what is known later.
  mutating func see(_ host: String, _ facts: OvertakenRule.Facts) {
    // Another connection was answered: from here on it is counted anew.
    guard let mark = marks[host], mark.answering == facts.answering else {
      marks[host] = OvertakenRule.Mark(
        answering: facts.answering, answers: facts.answers, wasIdle: facts.isIdle)
      return
    }
    marks[host]?.wasIdle = facts.isIdle
  }
}
