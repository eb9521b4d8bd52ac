import DownloadModel
import RunDoors
import SystemPackage

/// The runs of the user, and their doors.
struct DoorDesk: Sendable {
  private let records: RunRecords
  private let reader = Reader()

  /// On a thread of its own, because a run may take long to answer.
  private actor Reader {
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let thread = BlockingExecutor(label: "dlm.desk")
    /// In milliseconds: a run that is stopped (SIGSTOP) must not hold up the others.
    private static let patience: Int32 = 300

    func status(of all: [RunRecords.Found]) -> [RunStatus] { all.map { RunStatus($0, patience: Self.patience) } }
  }

  init(_ state: FilePath) { records = RunRecords(below: state) }

  /// Those that are alive come first, then the newest.
  func runs() async -> [RunStatus] {
    let all = records.all()
    return await reader.status(of: all.filter(\.isAlive) + all.filter { !$0.isAlive }.reversed())
  }

  func run(_ number: Int) throws(Refused) -> RunRecords.Found {
    guard let found = records.all().first(where: { $0.record.number == number }) else {
      throw Refused("run \(number) is not known", status: 404)
    }
    return found
  }

  /// - Returns: the fields of the answer.
  func tell(_ number: Int, _ fields: JSONFields) async throws(Refused) -> JSONFields {
    let record = try run(number).record
    do {
      guard let answer = try await RunVisit(record)?.ask(fields) else {
        throw Refused("run \(number) has ended", status: 409)
      }
      return [
        "added": answer.added, "known": answer.known, "files": answer.files, "rejected": answer.rejected ?? [],
      ]
    } catch let refused as Refused { throw refused } catch RunVisit.Failure.refused(let why) {
      throw Refused(why, status: 409)
    } catch { throw Refused("run \(number) does not answer", status: 504) }
  }
}
