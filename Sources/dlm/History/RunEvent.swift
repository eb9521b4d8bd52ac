import DownloadModel
import FoundationEssentials

/// An event in a folder, one line of its history each: a JSON object.
enum RunEvent: Decodable, Equatable {
  case began(run: String, RememberedCommand)
  /// - Parameter run: `nil` for a run that no command repeats (`dlm compare`).
  case ended(run: String?, PastRun)
  /// Its list broke off later: the run counts as if it had never started.
  case void(run: String)

  private enum BeganCodingKeys: String, CodingKey { case run, _1 = "command" }
  private enum EndedCodingKeys: String, CodingKey { case run, _1 = "past" }

  var ended: PastRun? { if case .ended(_, let past) = self { past } else { nil } }

  /// - Returns: text to append. It starts with a line end, because the line before it may be torn.
  static func text(_ events: [RunEvent]) -> [UInt8] { Array(("\n" + events.map { $0.json.text + "\n" }.joined()).utf8) }

  /// The JSON that `init(from:)` reads. Not by an encoder: its first value makes the runtime search all conformances.
  private var json: JSONValue {
    let (name, fields): (String, JSONFields) =
      switch self {
      case .began(let run, let command): ("began", ["run": run, "command": command.json])
      case .ended(let run, let past): ("ended", ["run": run, "past": past.json])
      case .void(let run): ("void", ["run": run])
      }
    return JSONValue([name: JSONValue(fields)])
  }

  /// A line that is not such an object (a torn write), or has implausible numbers, is ignored.
  /// - Parameter word: selects lines that contain it; `nil` for all.
  static func all(in text: some Collection<UInt8>, with word: String? = nil) -> [RunEvent] {
    let decoder = JSONDecoder()
    return text.split(separator: 0x0A).compactMap { line in
      if let word, line.place(of: word) == nil { return nil }
      let event = try? decoder.decode(RunEvent.self, from: Data(line))
      return event?.ended?.isPossible == false ? nil : event
    }
  }
}
