import DownloadModel
import RunDoors
import SystemPackage

/// Calls of aria2's JSON-RPC, with its answers, for programs that know aria2. A download of aria2's is a file of a run.
struct AriaCalls: Sendable {
  private let gate: Gate
  private let folder: PageFolder
  private let desk: DoorDesk
  private let start: PageStart

  /// aria2's version whose answers these are: programs look at it.
  private static let version = "1.36.0"

  init(_ gate: Gate, _ folder: PageFolder, _ desk: DoorDesk, _ start: PageStart) {
    self.gate = gate
    self.folder = folder
    self.desk = desk
    self.start = start
  }

  /// One call, or a list of them.
  func answer(_ body: [UInt8], _ guessing: Guessing) async -> PageAnswer {
    guard let input = JSONInput(json: body) else {
      return answer(Self.failure("Parse error.", of: .null, code: -32700), status: 500)
    }
    let session = Session(self, await desk.runs(), guessing)
    if case .list(let calls) = input {
      var answers: [JSONValue] = []
      for call in calls { answers.append(await session.answer(call).json) }
      return answer(.list(answers), status: 200)
    }
    let (json, isGood) = await session.answer(input)
    return answer(json, status: isGood ? 200 : 400)
  }

  private func answer(_ json: JSONValue, status: UInt) -> PageAnswer {
    var answer = PageAnswer(Array(json.text.utf8), type: "application/json-rpc")
    answer.status = status
    return answer
  }

  private static func failure(_ why: String, of id: JSONInput, code: Int = 1) -> JSONValue {
    JSONValue(["id": id.json, "jsonrpc": "2.0", "error": JSONValue(["code": code, "message": why])])
  }

  /// The calls of one request, which see the same runs.
  private struct Session {
    let calls: AriaCalls
    let runs: [RunStatus]
    let guessing: Guessing

    init(_ calls: AriaCalls, _ runs: [RunStatus], _ guessing: Guessing) {
      self.calls = calls
      self.runs = runs
      self.guessing = guessing
    }

    func answer(_ call: JSONInput) async -> (json: JSONValue, isGood: Bool) {
      let id = call["id"] ?? .null
      guard let method = call["method"]?.text else {
        return (AriaCalls.failure("Invalid Request.", of: id, code: -32600), false)
      }
      do throws(Refused) {
        let result = try await carryOut(method, call["params"]?.list ?? [])
        return (JSONValue(["id": id.json, "jsonrpc": "2.0", "result": result]), true)
      } catch { return (AriaCalls.failure(error.why, of: id), false) }
    }

    private func carryOut(_ method: String, _ given: [JSONInput]) async throws(Refused) -> JSONValue {
      // Its calls have tokens of their own.
      if method == "system.multicall" { return try await carryOutAll(given.first?.list ?? []) }
      let mark = "token:"
      guard let token = given.first?.text, token.hasPrefix(mark), calls.gate.isToken(token.dropFirst(mark.count)) else {
        await guessing.wait()
        throw Refused("Unauthorized")
      }
      let parameters = Array(given.dropFirst())
      switch method {
      case "aria2.getVersion":
        return JSONValue(["version": AriaCalls.version, "enabledFeatures": ["Async DNS", "GZip", "HTTPS", "Metalink"]])
      case "aria2.getGlobalStat": return globalStatus
      case "aria2.addUri": return try await add(parameters)
      case "aria2.tellActive":
        return .list(downloads.filter { $0.status == "active" }.map { $0.fields(only: parameters.first) })
      case "aria2.tellWaiting": return try page(parameters) { $0.status == "paused" }
      case "aria2.tellStopped": return try page(parameters) { $0.isStopped }
      case "aria2.tellStatus": return try find(parameters).fields(only: parameters.dropFirst().first)
      case "aria2.pause":
        return try await tell("pause", try find(parameters, in: ["active"], "cannot be paused now"))
      case "aria2.unpause":
        return try await tell("resume", try find(parameters, in: ["paused"], "cannot be unpaused now"))
      case "aria2.remove":
        let download = try find(parameters, in: ["active", "paused"], "is not active")
        return try await tell(download.isAlone ? "stop" : "skip", download)
      default: throw Refused("No such method: \(method)")
      }
    }

    private func carryOutAll(_ all: [JSONInput]) async throws(Refused) -> JSONValue {
      var results: [JSONValue] = []
      for call in all {
        let method = call["methodName"]?.text ?? ""
        guard method != "system.multicall" else { throw Refused("Recursive system.multicall forbidden.") }
        do throws(Refused) { results.append(.list([try await carryOut(method, call["params"]?.list ?? [])])) } catch {
          results.append(JSONValue(["code": 1, "message": error.why]))
        }
      }
      return .list(results)
    }

    private var downloads: [AriaDownload] { runs.flatMap(AriaDownload.all) }

    /// - Parameter parameters: offset, number, and keys. A negative offset counts from the end, and goes backwards.
    private func page(
      _ parameters: [JSONInput], of isWanted: (AriaDownload) -> Bool
    ) throws(Refused) -> JSONValue {
      let offset = try integer(at: 0, of: parameters)
      let most = try integer(at: 1, of: parameters)
      guard most >= 0 else {
        throw Refused(
          "The integer parameter at 1 has invalid value: the value must be greater than or equal to 0.")
      }
      let all = downloads.filter(isWanted).sorted { $0.run.record.number < $1.run.record.number }
      let page =
        offset >= 0
        ? all.dropFirst(offset).prefix(most)
        : all.prefix(max(0, all.count + 1 + max(offset, -all.count - 1))).reversed().prefix(most)
      return .list(page.map { $0.fields(only: parameters.dropFirst(2).first) })
    }

    private func integer(at index: Int, of parameters: [JSONInput]) throws(Refused) -> Int {
      guard index < parameters.count else { throw Refused("The parameter at \(index) is required but missing.") }
      guard case .integer(let integer) = parameters[index] else {
        throw Refused("The parameter at \(index) has wrong type.")
      }
      return Int(integer)
    }

    private func find(
      _ parameters: [JSONInput], in states: Set<String>? = nil, _ otherwise: String = ""
    ) throws(Refused) -> AriaDownload {
      guard let gid = parameters.first?.text else { throw Refused("The parameter at 0 is required but missing.") }
      guard let found = downloads.first(where: { $0.gid == gid }) else { throw Refused("GID \(gid) is not found") }
      guard states?.contains(found.status) != false else { throw Refused("GID#\(gid) \(otherwise)") }
      return found
    }

    private func tell(_ verb: String, _ download: AriaDownload) async throws(Refused) -> JSONValue {
      let fields: JSONFields = ["do": verb, "files": [download.file]]
      _ = try await calls.desk.tell(download.run.record.number, fields)
      return download.gid.json
    }

    private func add(_ parameters: [JSONInput]) async throws(Refused) -> JSONValue {
      guard let given = parameters.first else { throw Refused("The parameter at 0 is required but missing.") }
      let urls = (given.list ?? []).compactMap(\.text)
      guard !urls.isEmpty else { throw Refused("URI is not provided.") }
      guard !urls.contains(where: { $0.contains(where: \.isWhitespace) }) else { throw Refused("URI is not valid.") }
      let options = parameters.dropFirst().first
      var order = PageRequest.Order()
      // aria2's own form of a list: the further URLs are mirrors of the first.
      order.text = ([urls.joined(separator: "\t")] + Self.lines(options)).joined(separator: "\n") + "\n"
      order.folder = try options?["dir"]?.text.map { path throws(Refused) in try relative(path) }
      guard case .literal(let text)? = try await calls.start.start(order)["run"]?.json, let run = Int(text) else {
        throw Refused("dlm has not said the number of its run")
      }
      return AriaDownload.gid(run: run, file: 0).json
    }

    private static func lines(_ options: JSONInput?) -> [String] {
      ["out", "checksum", "referer", "user-agent", "header"].flatMap { name in
        let values = options?[name]?.list?.compactMap(\.text) ?? [options?[name]?.text].compactMap(\.self)
        return values.map { "  \(name)=\($0.filter { !$0.isNewline })" }
      }
    }

    private func relative(_ path: String) throws(Refused) -> String {
      var file = FilePath(path)
      guard file.isRelative || file.removePrefix(FilePath(calls.folder.root)) else {
        throw Refused("\(path) is outside of \(calls.folder.root)")
      }
      return file.string
    }

    private var globalStatus: JSONValue {
      let all = downloads
      let rate = runs.reduce(0) { $0 + ($1.snapshot?.rate ?? 0) }
      let stopped = all.count(where: \.isStopped)
      return JSONValue([
        "downloadSpeed": "\(rate)", "uploadSpeed": "0", "numActive": "\(all.count { $0.status == "active" })",
        "numWaiting": "\(all.count { $0.status == "paused" })", "numStopped": "\(stopped)",
        "numStoppedTotal": "\(stopped)",
      ])
    }
  }
}
