import DownloadModel
import FileReceiving
import RunDoors
import SystemPackage

/// Answers the requests that passed the gate, by method and path.
struct Site: Sendable {
  private let folder: PageFolder
  private let desk: DoorDesk
  private let program: Program
  private let lists: PageLists
  private let start: PageStart
  private let pictures = PictureLoader()
  private let calls: AriaCalls
  private let records: FilePath

  init(_ settings: PageSettings, _ gate: Gate) {
    folder = PageFolder(root: settings.directory)
    records = RunRecords.folder(below: FilePath(settings.state))
    desk = DoorDesk(FilePath(settings.state))
    program = Program(path: settings.program)
    lists = PageLists(below: FilePath(settings.state))
    start = PageStart(folder, desk, program, lists)
    calls = AriaCalls(gate, folder, desk, start)
  }

  func answer(_ request: PageRequest, _ guessing: Guessing) async throws(Refused) -> PageAnswer {
    switch (request.method, request.target.path) {
    case (_, Gate.remoteCalls): await calls.answer(request.body, guessing)
    case ("GET", "/"): Self.page
    case ("GET", "/api/runs"):
      PageAnswer(["directory": folder.root, "runs": await desk.runs().map { JSONValue($0.fields) }])
    case ("POST", "/api/runs"): PageAnswer(try await start.start(try request.order()))
    case ("POST", "/api/run"): PageAnswer(try await steer(try request.order()))
    case ("GET", "/api/events"): try events(try request.run())
    case ("GET", "/api/log"): try log(of: try request.run())
    case ("GET", "/api/pictures"):
      PageAnswer(["pictures": try pictures(of: try request.run()).all()])
    case ("GET", "/api/picture"):
      try await pictures.answer(
        try pictures(of: try request.run()).path(of: request.target.query["picture"] ?? ""))
    case ("POST", "/api/name"): PageAnswer(try await name(try request.order()))
    case ("POST", "/api/race"): try race(try request.order())
    default: throw Refused("nothing is at this path", status: 404)
    }
  }

  private static let source = String(utf8: PackageResources.Page_html)

  /// Only the scripts and styles of the page itself are carried out (CSP3).
  private static var page: PageAnswer {
    let nonce = String(UInt64.random(in: .min ... .max), radix: 36)
    var answer = PageAnswer(
      Array(source.replacing("nonce=\"\"", with: "nonce=\"\(nonce)\"").utf8), type: "text/html; charset=utf-8")
    answer.headers["Content-Security-Policy"] =
      "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; img-src blob: data:; "
      + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    answer.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    return answer
  }

  private static let verbs: Set = ["pause", "resume", "stop", "skip", "retry", "limit", "jobs"]

  private func steer(_ order: PageRequest.Order) async throws(Refused) -> JSONFields {
    guard let number = order.run, let verb = order.verb, Self.verbs.contains(verb) else {
      throw Refused("\"run\" and \"do\" are needed: \(Self.verbs.sorted().joined(separator: ", "))")
    }
    if verb == "resume", try !desk.run(number).isAlive {
      return ["run": try await start.number(from: ["resume", "\(number)", "--detach"])]
    }
    var fields: JSONFields = ["do": verb, "jobs": order.jobs]
    if let files = order.files { fields["files"] = files }
    if let limits = order.limits { fields["limits"] = limits }
    return try await desk.tell(number, fields)
  }

  private func events(_ number: Int) throws(Refused) -> PageAnswer {
    let follower = try RunFollower(try desk.run(number).record)
    return PageAnswer { write in
      while let line = await follower.next() { try await write(line) }
    }
  }

  /// The last lines of a detached run.
  private func log(of number: Int) throws(Refused) -> PageAnswer {
    guard let folder = try? Folder(own: records), let file = try? folder.openOwn("\(number).log"),
      let size = try? file.standing().identity.size, let bytes = try? file.read(4096, at: max(0, size - 4096))
    else { throw Refused("run \(number) has no log: it was not detached", status: 404) }
    return PageAnswer(bytes, type: "text/plain; charset=utf-8")
  }

  private func pictures(of number: Int) throws(Refused) -> PictureFolder {
    let record = try desk.run(number).record
    guard folder.contains(record.directory) else {
      throw Refused("run \(number) has its files outside of \(folder.root)", status: 403)
    }
    return PictureFolder(path: record.directory, since: record.beganAt)
  }

  private func name(_ order: PageRequest.Order) async throws(Refused) -> JSONFields {
    guard let number = order.run, let picture = order.picture, let name = order.name else {
      throw Refused("\"run\", \"picture\" and \"name\" are needed")
    }
    let path = try pictures(of: number).path(of: picture)
    try await program.run(["rename", "--", path, name])
    return ["picture": FilePath(picture).removingLastComponent().appending(name).string]
  }

  /// The three modes in turn on one list; lines as of `dlm compare --progress json --verbose`, and a last one of type
  /// `trouble` if that failed.
  private func race(_ order: PageRequest.Order) throws(Refused) -> PageAnswer {
    let list = try lists.keep(order.text ?? "", named: order.name)
    let arguments = ["compare", list, "--runs", "1", "--yes", "--progress", "json", "--verbose"]
    return PageAnswer { [program] write in
      let trouble = try await program.follow(arguments) { try await write(Array($0.utf8)) }
      if let trouble { try await write(Array(JSONValue(["type": "trouble", "message": trouble]).text.utf8)) }
    }
  }
}
