import ArgumentParser
import RunDoors

extension RunVisit {
  /// - Throws: `ValidationError` if the run has ended meanwhile.
  @discardableResult
  static func tell(_ run: RunRecord, _ verb: String) async throws -> Answer {
    if let answer = try await RunVisit(run)?.ask(["do": verb]) { return answer }
    throw ValidationError("run \(run.number) has just ended: dlm status \(run.number) shows how")
  }
}

extension RunVisit.Failure {
  var refusal: Refusal {
    switch self {
    case .refused(let why): Refusal("dlm: the run refuses: \(why)", .failed)
    case .doesNotAnswer(let run):
      Refusal("dlm: run \(run) does not answer: it may be stopped (Ctrl-Z), or its machine is very busy", .tryAgain)
    case .unreachable(let run):
      Refusal(
        "dlm: run \(run.number) goes on as process \(run.process.number), but its socket was removed; dlm stop "
          + "\(run.number) still ends it", .tryAgain)
    }
  }
}
