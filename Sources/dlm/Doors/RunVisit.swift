import ArgumentParser
import DownloadModel
import FoundationEssentials
import RunDoors

/// A connection that asks one thing after another, on a thread of its own, because each blocks.
actor RunVisit {
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.visit")
  private let connection: DoorConnection
  private var asked = 0
  /// In milliseconds. Adding a long list takes time.
  private static let patience: Int32 = 60_000

  struct Answer: Decodable {
    var id: Int?
    var error: String?
    var added: Int?
    var known: Int?
    var files: Int?
    var type: String?
    var status: Int32?
  }

  /// `nil` if the run has ended.
  init?(_ record: RunRecord) {
    guard let connection = try? RunStatus.connection(to: record) else { return nil }
    self.connection = connection
  }

  /// - Returns: `nil` if the run has ended meanwhile.
  /// - Throws: a refusal of the run, or that it does not answer.
  func ask(_ fields: JSONFields) throws(Refusal) -> Answer? {
    asked += 1
    do { try connection.send(fields.merging(["id": asked]) { $1 }) } catch { return nil }
    while let line = try next() {
      guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(line)), answer.id == asked else { continue }
      if let error = answer.error { throw Refusal("dlm: the run refuses: \(error)", .failed) }
      return answer
    }
    return nil
  }

  /// - Throws: `ValidationError` if the run has ended meanwhile.
  @discardableResult
  static func tell(_ run: RunRecord, _ verb: String) async throws -> Answer {
    if let answer = try await RunVisit(run)?.ask(["do": verb]) { return answer }
    throw ValidationError("run \(run.number) has just ended: dlm status \(run.number) shows how")
  }

  /// Waits until the run has ended.
  /// - Returns: its exit status; `nil` if it was killed.
  func end() throws(Refusal) -> Int32? {
    while let line = try next() {
      if let answer = try? JSONDecoder().decode(Answer.self, from: Data(line)), answer.type == "ended" {
        return answer.status
      }
    }
    return nil
  }

  private func next() throws(Refusal) -> [UInt8]? {
    let line: [UInt8]?
    do { line = try connection.line(within: Self.patience) } catch { return nil }
    if let line { return line }
    throw Refusal("dlm: the run does not answer: it may be stopped (Ctrl-Z), or its machine is very busy", .tryAgain)
  }
}
