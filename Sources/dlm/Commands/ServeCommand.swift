import ArgumentParser
import DownloadModel
import FoundationEssentials
import Glibc
import RunDoors
import SystemPackage

struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Watch and steer your downloads in a browser.",
    discussion: """
      EXAMPLES
        dlm serve
        dlm serve --directory ~/Downloads --port 8080
        ssh -L 6800:127.0.0.1:6800 host dlm serve     from elsewhere

      Prints a link for your browser and serves this machine alone, until Ctrl-C; downloads go on after that. The link \
      contains a secret: anybody who has it can start downloads. Programs for aria2 can use the same port, at /jsonrpc.
      """)

  @Option(help: .value("N", "The port; 0 takes a free one.")) var port: UInt16 = 6800
  @Option(
    name: OptionTable.row("directory").names,
    help: .value("dir", "The page puts files into this folder and those below it."), completion: .directory)
  var directory = "."
  @Option(help: .value("url", "Let pages of this origin use /jsonrpc; * for all. May be repeated."))
  var allowOrigin: [String] = []
  @Option(help: .value("host", "Further host name of a reverse proxy, with its port. May be repeated."))
  var host: [String] = []

  func validate() throws {
    if let text = allowOrigin.first(where: { $0 != "*" && $0.wholeMatch(of: /https?:\/\/[^\/]+/) == nil }) {
      throw ValidationError("--allow-origin \(text): not an origin, such as http://ariang.example, or *")
    }
    if let text = host.first(where: { $0.isEmpty || $0.contains("/") }) {
      throw ValidationError("--host \(text): not a host name, such as files.example.org or localhost:8080")
    }
  }

  func run() throws {
    guard let state = XDGFolders().state else {
      throw Refusal("dlm: serve needs a folder for its token: set HOME or XDG_STATE_HOME")
    }
    guard let directory = RunMemory.canonical(directory), FilePath(directory).fileType == S_IFDIR else {
      throw Refusal("dlm: --directory \(directory): no such folder; make it first", .folderUnusable)
    }
    let program = RunMemory.canonical("/proc/self/exe") ?? "dlm"
    let settings = PageSettings(
      port: port, directory: directory, state: state.string, program: program, allowedOrigins: allowOrigin, hosts: host)
    // Strings and integers always encode.
    let json = (try? JSONEncoder().encode(settings)).map { String(utf8: $0) } ?? ""
    let server = FilePath(program).removingLastComponent().appending("dlm-serve").string
    let arguments = ["dlm-serve", json].map { (word: String) in strdup(word) } + [nil]
    execvp(access(server, X_OK) == 0 ? server : "dlm-serve", arguments)
    throw Refusal("dlm: \(server): \(Errno(rawValue: errno)); Config/install puts it beside dlm", .failed)
  }
}
