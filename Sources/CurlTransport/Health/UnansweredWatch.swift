/// Facts that one loop collects about hosts while requests wait for the first answer of their connections.
struct UnansweredWatch {
  private(set) var isOn = false
  var isJudging = false
  private(set) var marks: [String: OvertakenRule.Mark] = [:]
  private var answers: [String: Int] = [:]
  private var firstAnswers: [String: (longest: UInt64, connect: UInt64)] = [:]
  /// The most hosts whose first answer is remembered, so that memory does not grow with their number.
  private static let mostHosts = 1024

  mutating func set(isOn: Bool, hosts: Set<String>) {
    self.isOn = isOn
    if !marks.isEmpty { marks = marks.filter { hosts.contains($0.key) } }
    if !isOn { answers = [:] }
  }

  mutating func count(_ host: String) { answers[host, default: 0] += 1 }

  /// Records the first answer of a connection, `time` nanoseconds after its start; it was established after `connect`.
  mutating func answered(_ host: String, after time: UInt64, connect: UInt64) {
    guard firstAnswers.count < Self.mostHosts || firstAnswers[host] != nil else { return }
    let known = firstAnswers[host] ?? (time, connect)
    firstAnswers[host] = (max(known.longest, time), min(known.connect, connect))
  }

  func facts(of host: String, busy: Int, idle: Int, taken: Int, all: Int) -> OvertakenRule.Facts {
    let first = firstAnswers[host]
    return OvertakenRule.Facts(
      busy: busy, idle: idle, answers: answers[host] ?? 0, firstAnswer: first?.longest ?? 0, taken: taken, all: all,
      connect: first?.connect)
  }

  mutating func see(_ host: String, _ facts: [OvertakenRule.Facts]) {
    // If another connection was answered, counting starts again.
    if marks[host]?.answering != facts.answering {
      marks[host] = OvertakenRule.Mark(answering: facts.answering, answers: facts.answers)
    }
    marks[host]?.wasIdle = facts.contains { $0.idle > 0 }
  }
}
