import Foundation
import Testing

@testable import Comparing

/// Writes the sample pages where a person wants to look at them: DLM_REPORT_SAMPLES names a folder.
@Suite("Sample pages")
struct PageFiles {
  static let folder = ProcessInfo.processInfo.environment["DLM_REPORT_SAMPLES"]

  @Test(.enabled(if: folder != nil))
  func areWritten() throws {
    let folder = try #require(Self.folder)
    for (name, pages) in SamplePages.all {
      try pages.html.write(toFile: "\(folder)/\(name).html", atomically: false, encoding: .utf8)
      try pages.json.write(toFile: "\(folder)/\(name).json", atomically: false, encoding: .utf8)
    }
  }
}
