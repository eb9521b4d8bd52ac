import ArgumentParser
import SystemPackage

/// The list of a command without sources: that of the last `get` in this folder. Never standard input, which is empty
/// under cron or in a script.
struct LastList {
  let history: RunHistory
  let store: RunHistoryStore

  init(_ store: RunHistoryStore) throws {
    guard let history = store.load(), !history.command.sources.isEmpty else {
      StandardError.say(store.warning)
      throw ValidationError(
        "Nothing to get: name a list or a URL (dlm get urls.txt), or - to read a list from a pipe.")
    }
    if let spool = history.command.sources.first(where: store.isSpool),
      OwnFiles.bytes(of: FilePath(spool), upTo: 1).isEmpty
    {
      throw ValidationError(
        "The last list of this folder came through a pipe and no longer exists: pipe it in again (dlm get -).")
    }
    self.history = history
    self.store = store
  }

  /// The remembered options count as if typed before the present ones.
  /// - Throws: `ValidationError` that names options that must be given again.
  func command(_ now: GetCommand) throws -> GetCommand {
    var command: GetCommand
    do { command = try GetCommand.parse(history.command.options + RememberedOptions(now).typed) } catch {
      throw ValidationError(
        "The options of the last run do not go with these: \(GetCommand.message(for: error)) Name the list to leave "
          + "them out.")
    }
    command.sources = history.command.sources
    try requireWithheld(command.shared)
    return command
  }

  func requireWithheld(_ given: RunOptions) throws {
    let names = try HeaderArgument.lines(of: given.header).map { HeaderArgument(argument: $0).name.lowercased() }
    let missing = history.command.withheld.filter { withheld in
      switch withheld {
      case .header(let name): !names.contains(name.lowercased())
      case .proxy: given.proxy == nil
      case .login: given.user == nil
      case .option(let name): (name == "referer" ? given.referer : given.dohURL) == nil
      case .addressLogins: !given.netrc && given.netrcFile == nil
      }
    }.map(\.option)
    guard missing.isEmpty else {
      throw ValidationError(
        "The last run had secrets, which dlm does not keep: give again \(missing.joined(separator: ", ")).")
    }
  }

  var names: String {
    history.command.sources.map {
      store.isSpool($0) ? "the list that came through a pipe" : CommandLineText.quoted($0, from: store.folder)
    }.joined(separator: " ")
  }
}
