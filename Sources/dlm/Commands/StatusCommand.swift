import ArgumentParser

struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show your downloads that are running on this machine.",
    discussion: """
      EXAMPLES
        dlm status
        dlm status --json
        dlm ls                    the same as dlm status

      One line each: its list, how much is done, the rate, the time left, and its folder. A download is shown after \
      its first second; one with --no-cache is not.
      """)

  @Flag(help: "As JSON, one object per line.") var json = false

  func run() throws {
    let running = CacheAtHand.running()
    if json { return try StandardOutput.say(json: running.map { CacheJSON.value($0) }) }
    if running.isEmpty { return try StandardOutput.say(["no download is running"]) }
    try StandardOutput.say(running.flatMap { CacheMessages.running($0, names: false) })
  }
}
