import DownloadModel
import StrategyComparing

/// Runs of a mode with these times, rounds from 1.
func measured(
  _ mode: DownloadMode, milliseconds: [Int], bytes: Int64 = 1000
) -> [RunMeasurement] {
  milliseconds.enumerated().map { index, time in
    RunMeasurement(
      mode: mode, round: index + 1, wall: .milliseconds(time), files: 2, bytes: bytes, contentDigest: "same")
  }
}
