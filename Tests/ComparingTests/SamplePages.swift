import DownloadModel
@testable import Comparing

/// Pages of the kinds that there are.
enum SamplePages {
  static let hostile =
    "https://evil.example/\"><script>alert(1)</script>'&\n\u{202E}gpj.\u{7}exe\"\u{301} onload=x"

  static var all: [(name: String, pages: ReportPages)] {
    [
      ("three-modes", threeModes), ("one-run", oneRun), ("no-details", noDetails), ("one-file", oneFile),
      ("hostile", hostilePages), ("widths", widths), ("thousand", thousand),
    ]
  }

  static var threeModes: ReportPages { ReportPages(SampleRuns().comparison(), SampleRuns.facts) }

  static var oneRun: ReportPages {
    var sample = SampleRuns()
    sample.failing = [7, 23]
    var facts = SampleRuns.facts
    facts.command = "dlm get leaves.txt --report page.html"
    facts.headline = "38 of 40 files came in 0.5 s; 2 failed."
    facts.notes = []
    return ReportPages(
      ComparisonReport(measurements: [sample.run(.parallel, .lanes(8), round: 1)]), facts)
  }

  static var noDetails: ReportPages {
    func runs(_ mode: ComparedMode, _ times: [Int]) -> [RunMeasurement] {
      times.enumerated().map { index, time in
        RunMeasurement(
          mode: mode, round: index + 1, wall: .milliseconds(time), files: 3, bytes: 3000)
      }
    }
    return ReportPages(
      ComparisonReport(
        measurements: runs(.sequential, [1000, 1040, 980]) + runs(.parallel, [200, 210, 205])),
      ReportFacts(
        list: "a.txt", command: "dlm compare a.txt", date: "2026-11-23T07:31:39Z", headline: "parallel won."))
  }

  static var oneFile: ReportPages {
    var sample = SampleRuns()
    sample.files = 1
    return ReportPages(sample.comparison(rounds: 1), SampleRuns.facts)
  }

  /// Addresses and facts that would be a page of their own.
  static var hostilePages: ReportPages {
    var sample = SampleRuns()
    sample.files = 12
    sample.failing = [3]
    sample.address = { "\(hostile)/\($0)" }
    return ReportPages(
      sample.comparison(rounds: 3),
      ReportFacts(
        list: hostile, command: hostile, date: hostile, headline: hostile, notes: [hostile],
        machine: [(name: hostile, value: hostile)]))
  }

  static var widths: ReportPages {
    let sample = SampleRuns()
    var runs = sample.runs(.sequential, .lanes(1), rounds: 3)
    for width in [2, 4, 8, 16, 32] {
      runs += sample.runs(ComparedMode(.parallel, jobs: width), .lanes(width), rounds: 3)
    }
    return ReportPages(ComparisonReport(measurements: runs), SampleRuns.facts)
  }

  static var thousand: ReportPages {
    var sample = SampleRuns()
    sample.files = 1000
    sample.bytes = 40_000
    sample.address = {
      "https://data.example.org/collections/herbarium/2026/plates/\($0 % 17)/leaf-\(100_000 + $0 * 7919)-large.jpeg"
    }
    return ReportPages(sample.comparison(), SampleRuns.facts)
  }
}
