package import DownloadModel

/// A connection that asks one thing after another, on a thread of its own, because each blocks.
package actor RunVisit {
  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.visit")
  private let record: RunRecord
  private let connection: DoorConnection
  private var asked = 0
  /// In milliseconds. Adding a long list takes time.
  private static let patience: Int32 = 60_000

  package struct Answer: Decodable, Sendable {
    var id: Int?
    var error: String?
    package var added: Int?
    package var known: Int?
    package var files: Int?
    /// Lines of an added list that are not requests, with the reasons.
    package var rejected: [String]?
    var type: String?
    var status: Int32?
  }

  package enum Failure: Error {
    case refused(why: String)
    /// It may be stopped (SIGSTOP).
    case doesNotAnswer(run: Int)
    /// The run goes on, but its socket is gone.
    case unreachable(RunRecord)
  }

  /// `nil` if the run has ended.
  package init?(_ record: RunRecord) async throws(Failure) {
    self.record = record
    // A run that ends removes its socket first.
    for _ in 0..<20 {
      if let connection = try? RunStatus.connection(to: record) {
        self.connection = connection
        return
      }
      guard record.process.isAlive else { return nil }
      try? await Task.sleep(for: .milliseconds(100))
    }
    throw .unreachable(record)
  }

  /// - Returns: `nil` if the run has ended meanwhile.
  package func ask(_ fields: JSONFields) throws(Failure) -> Answer? {
    asked += 1
    do { try connection.send(fields.merging(["id": asked]) { $1 }) } catch { return nil }
    while let line = try next() {
      guard let answer = Answer(json: line), answer.id == asked else { continue }
      if let error = answer.error { throw .refused(why: error) }
      return answer
    }
    return nil
  }

  /// Waits until the run has ended.
  /// - Returns: its exit status; `nil` if it was killed.
  package func end() throws(Failure) -> Int32? {
    while let line = try next() {
      if let answer = Answer(json: line), answer.type == "ended" { return answer.status }
    }
    return nil
  }

  private func next() throws(Failure) -> [UInt8]? {
    let line: [UInt8]?
    do { line = try connection.line(within: Self.patience) } catch { return nil }
    guard let line else { throw .doesNotAnswer(run: record.number) }
    return line
  }
}
