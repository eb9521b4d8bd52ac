import DownloadModel
import FoundationEssentials
import RunDoors
import SystemPackage

/// Asks the doors of runs, on a thread of its own, because a run may take seconds to answer.
actor DoorDesk {
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.desk")
  private let records: RunRecords
  /// In milliseconds. Adding a long list takes time.
  private static let patience: Int32 = 60_000

  init(_ state: FilePath) { records = RunRecords(below: state) }

  func runs() -> [RunStatus] {
    let all = records.all()
    return (all.filter(\.isAlive) + all.filter { !$0.isAlive }.reversed()).map { RunStatus($0) }
  }

  func run(_ number: Int) throws(Refused) -> RunRecords.Found {
    guard let found = records.all().first(where: { $0.record.number == number }) else {
      throw Refused("run \(number) is not known", status: 404)
    }
    return found
  }

  private struct Answer: Decodable {
    var id: Int?
    var error: String?
    var added: Int?
    var known: Int?
    var files: Int?
  }

  /// - Returns: the fields of the answer.
  func tell(_ number: Int, _ fields: JSONFields) throws(Refused) -> JSONFields {
    let found = try run(number)
    guard found.isAlive, let connection = try? RunStatus.connection(to: found.record),
      (try? connection.send(fields.merging(["id": 1]) { $1 })) != nil
    else { throw Refused("run \(number) has ended", status: 409) }
    while let line = try? connection.line(within: Self.patience) {
      guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(line)), answer.id == 1 else { continue }
      if let error = answer.error { throw Refused(error, status: 409) }
      return ["added": answer.added, "known": answer.known, "files": answer.files]
    }
    throw Refused("run \(number) does not answer", status: 504)
  }
}
