import ArgumentParser
import Glibc
import SystemPackage

/// What a command without a SOURCE works on: the last list that a `get` in this folder used. Never standard input,
/// whatever that is: under cron, in a script or with a closed descriptor nobody speaks there, and a list from a pipe
/// is named `-`.
struct LastList {
  let history: RunHistory
  private let spoolPath: String?

  /// - Throws: `ValidationError` where nothing is remembered.
  init(_ store: RunHistoryStore) throws {
    guard let history = store.load(), !history.sources.isEmpty else {
      throw ValidationError(
        "There is nothing to get: name a list or an address (dlm get urls.txt), or - to read a list from a pipe."
      )
    }
    spoolPath = store.spoolPath?.string
    if let spoolPath, history.sources.contains(spoolPath), access(spoolPath, R_OK) != 0 {
      throw ValidationError(
        "The last list of this folder came through a pipe and is no longer there: pipe it in again (dlm get -)."
      )
    }
    self.history = history
  }

  /// The run again, as if what is remembered had been typed before what is typed now.
  /// - Throws: `ValidationError` that says what has to be given again.
  func command(_ now: GetCommand) throws -> GetCommand {
    var command: GetCommand
    do {
      command = try GetCommand.parse(history.options + RememberedOptions(now).typed)
    } catch {
      throw ValidationError(
        "The options of the last run do not go with these: \(GetCommand.message(for: error)) Name the list, and its options are forgotten."
      )
    }
    command.sources = history.sources
    try requireWithheld(command.connection)
    return command
  }

  /// - Throws: `ValidationError` that says what has to be given again.
  func requireWithheld(_ given: ConnectionOptions) throws {
    let names = try HeaderArgument.lines(of: given.header).map {
      HeaderArgument(argument: $0).name.lowercased()
    }
    let missing = history.withheld.filter { withheld in
      switch withheld {
      case .header(let name): !names.contains(name.lowercased())
      case .proxy: given.proxy == nil
      case .addressLogins: given.netrcFile == nil
      }
    }
    guard missing.isEmpty else { throw ValidationError(RepeatWords.withheld(missing)) }
  }

  /// For a person: paths of this folder as they were typed.
  var names: String {
    let here = history.folder.hasSuffix("/") ? history.folder : history.folder + "/"
    return history.sources.map { source in
      if source == spoolPath { return "the list that came through a pipe" }
      return CommandLineWords.quoted(source.hasPrefix(here) ? String(source.dropFirst(here.count)) : source)
    }.joined(separator: " ")
  }
}
