import ArgumentParser
import DownloadModel
import FoundationEssentials
import SystemPackage

struct MergeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge", abstract: "Add up the summaries of runs that each downloaded one shard of a list.",
    discussion: """
      EXAMPLES
        dlm get urls.txt --shard 3/20 --summary-json 3.json --failed 3.txt
        dlm merge *.json --again again.txt

      Reads the files that --summary-json wrote in each run with --shard, checks that each line of the list is done, \
      failed or missing exactly once, and names the shards where that is not so.
      """)

  @Argument(help: .value("report", "Files that --summary-json wrote."), completion: .file()) var reports: [String]
  @Option(help: .value("file|-", "Write what failed in any of them as a list for dlm get."), completion: .file())
  var again: String?
  @Flag(help: "As JSON.") var json = false

  func run() throws {
    let file = try again.map { try OutputFile($0, option: "--again") }
    let merge = ShardMerge(reports.map { ($0, Self.report(at: $0)) })
    var troubles = merge.troubles
    let (list, unread) = Self.failures(of: merge)
    troubles += unread.map { "its failures cannot be read: \($0)" }
    StandardError.say(troubles.map { "dlm: \($0)" })
    let untold = file?.keep(list) ?? []
    StandardError.say(untold)
    try json ? StandardOutput.say(json: [merge.json]) : StandardOutput.say([merge.line])
    let status = untold.isEmpty ? merge.status : .diskFailed
    if status != .success || !unread.isEmpty { throw status == .success ? ExitStatus.failed : status }
  }

  private static func report(at path: String) -> ShardReport? {
    let text = FileManager.default.contents(atPath: path)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let report = text.flatMap { try? decoder.decode(ShardReport.self, from: $0) }
    return report?.isPossible == true ? report : nil
  }

  /// The lists of failures, and those that could not be read. Another user may have written a report, so only a file
  /// beside it is read, whatever folder it names.
  private static func failures(of merge: ShardMerge) -> (list: String, unread: [String]) {
    var list = merge.again.map { "# \($0)\n" }.joined()
    var unread = [String]()
    for (path, report) in merge.kept where report.failed > 0 {
      guard let name = report.failedList else {
        unread.append("\(path) names none: dlm get with --failed writes them")
        continue
      }
      if let text = text(of: name, beside: FilePath(path)) {
        list += String(utf8: text)
      } else {
        unread.append("\(path) names \(name); put that list beside the report")
      }
    }
    if list.isEmpty { list = unread.isEmpty ? "# nothing failed\n" : "# what failed could not be read\n" }
    return (list, unread)
  }

  /// - Returns: `nil` for a file that is not regular, hidden, or longer than a list can be.
  private static func text(of path: String, beside report: FilePath) -> [UInt8]? {
    guard let name = FilePath(path).lastComponent?.string, name.unicodeScalars.first != ".",
      let text = FileDescriptor.bytes(of: report.folder.appending(name), upTo: WholeText.limit, .noFollow),
      text.count <= WholeText.limit
    else { return nil }
    return text
  }
}
