import DownloadCaching
import DownloadModel
import SystemPackage
import TerminalProgress

/// Shows a run's progress to other processes (`dlm status`).
struct RunningSnapshots {
  let folder: FilePath
  let directory: String
  /// A description of its lists, for people.
  let list: String

  static func folder(below state: FilePath) -> FilePath { state.appending("running") }

  /// Writes a snapshot a second until the task is cancelled, then removes it; and accepts requests that other processes
  /// add to the run. A run shorter than a second writes and reads nothing.
  func follow(_ feed: ProgressFeed, add: @Sendable ([String]) async -> (added: Int, known: Int)?) async {
    var file: RunningDownloads.SnapshotFile?
    let start = ContinuousClock.now
    // The last five seconds, over which the rate is measured.
    var earlier: [(at: Duration, received: Int64)] = [(.zero, 0)]
    let reader = feed.reader(of: .files)
    var outlook = RunOutlook()
    while true {
      // A clock's sleep ends early only for a cancelled task.
      try? await Task.sleep(for: .seconds(1))
      if Task.isCancelled { break }
      let now = start.duration(to: .now)
      let sample = reader.take()
      let rate = Double(sample.received - earlier[0].received) / ((now - earlier[0].at) / .seconds(1))
      earlier.append((now, sample.received))
      if earlier.count > 5 { earlier.removeFirst() }
      // Without such a folder, the name as it was given.
      let directory = RunMemory.canonical(directory) ?? directory
      let current = file ?? RunningDownloads.SnapshotFile(in: folder)
      file = current
      var running = RunningDownloads(sample, directory: directory, rate: Int64(max(0, min(rate, 1e15))))
      outlook.update(sample, at: now)
      running.fraction = outlook.fraction
      running.secondsLeft = outlook.timeLeft.map { $0 / .seconds(1) }
      running.startedIn = RunMemory.canonical(".")
      running.list = list
      await current.write(running)
      await current.takeAdded(add)
    }
    await file?.remove()
  }
}
