import DownloadModel
import RunDoors

/// Starts detached runs, and adds to those that exist.
struct PageStart: Sendable {
  private let folder: PageFolder
  private let desk: DoorDesk
  private let program: Program
  private let lists: PageLists

  init(_ folder: PageFolder, _ desk: DoorDesk, _ program: Program, _ lists: PageLists) {
    self.folder = folder
    self.desk = desk
    self.program = program
    self.lists = lists
  }

  /// - Returns: the number of a new run, or what was added to an existing one.
  func start(_ order: PageRequest.Order) async throws(Refused) -> JSONFields {
    if let number = order.run { return try await add(order, to: number) }
    guard let path = try? folder.path(below: order.folder ?? "") else {
      throw Refused("\"\(order.folder ?? "")\" is not a folder below \(folder.root)", status: 403)
    }
    let list = try lists.keep(order.text ?? "", named: order.name)
    return ["run": try await number(from: ["get", list, "--directory=\(path)", "--detach", "--no-compare"])]
  }

  private func add(_ order: PageRequest.Order, to number: Int) async throws(Refused) -> JSONFields {
    guard folder.contains(try desk.run(number).record.directory) else {
      throw Refused("run \(number) puts its files outside of \(folder.root)", status: 403)
    }
    let list = try lists.keep(order.text ?? "", named: order.name)
    let folder = order.folder.flatMap { $0.isEmpty ? nil : $0 }
    return try await desk.tell(number, ["do": "add", "list": list, "folder": folder])
  }

  /// - Parameter arguments: of a `dlm` that detaches, and says so: `run 3 started · dlm attach 3`
  func number(from arguments: [String]) async throws(Refused) -> Int {
    let said = try await program.run(arguments)
    guard let number = said.firstMatch(of: /run (\d+) (?:started|goes on)/).flatMap({ Int($0.1) }) else {
      throw Refused("dlm has not said the number of its run", status: 500)
    }
    return number
  }
}
