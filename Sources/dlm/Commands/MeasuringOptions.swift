import ArgumentParser
import DownloadModel

struct MeasuringOptions: ParsableArguments {
  @Option(help: .value("N", "Runs of each mode.")) var runs = 3
  @Option(help: .value("N", "Rounds before them that are not measured.")) var warmup = 0

  @Option(
    name: [.short, .long, .customLong("modes")], parsing: .upToNextOption,
    help: .value("mode", "Only these modes (default: all but auto)."))
  var mode: [DownloadMode] = []

  @Flag(help: "Stop when a file fails; by default it is skipped in all runs.") var strict = false

  @Flag(help: "Measure without disks: files go to memory (/dev/shm), are checked there, and deleted.")
  var discard = false

  func validate() throws {
    if discard, !TemporaryFolder.hasMemory {
      throw ValidationError(
        "--discard needs /dev/shm, a folder in memory, which is not there or may not be written; without it the files "
          + "go to a scratch folder below $TMPDIR")
    }
    guard 1...1000 ~= runs else { throw ValidationError("--runs must be from 1 to 1000.") }
    guard 0...1000 ~= warmup else { throw ValidationError("--warmup must be from 0 to 1000.") }
  }
}
