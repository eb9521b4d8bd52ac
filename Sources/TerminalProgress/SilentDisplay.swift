import DownloadModel

/// Shows nothing. Its renderer still takes the events, so that a board that keeps them does not fill up.
struct SilentDisplay: ProgressDisplay {
  let interval = Duration.seconds(1)
  let restoring: [UInt8] = []

  func draw(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] { [] }
  func end(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] { [] }
  func suspend() -> [UInt8] { [] }
}
