import DownloadModel
import Foundation
@testable import Comparing
import Testing

@Suite("Forms of a report")
struct ReportFormTests {
  /// Two runs of a file in one mode, and one in another.
  private static var report: ComparisonReport {
    var details = DrawingTests.details(
      [("http://h/a?x-amz-signature=1", begin: 0, connected: 10, firstByte: 20, end: 30)], bytes: 1000)
    details.processorTime = .milliseconds(5)
    details.peakMemory = 2_097_152
    details.transfers[0].hasFailed = true
    details.mostAtOnce = 1
    func run(_ mode: ComparedMode, _ round: Int, _ milliseconds: Int) -> RunMeasurement {
      RunMeasurement(
        mode: mode, round: round, wall: .milliseconds(milliseconds), files: 1, bytes: 1000,
        details: round == 1 ? details : RunDetails())
    }
    return ComparisonReport(
      measurements: [
        run(.sequential, 1, 40), run(.sequential, 2, 44), run(ComparedMode(.parallel, jobs: 4), 2, 20),
      ])
  }

  private static var small: ReportPages {
    ReportPages(
      report,
      ReportFacts(
        list: "a|b.txt", command: "dlm compare a|b.txt", date: "2026-11-23", headline: "2 × as <fast>",
        notes: ["Only *one* run."], machine: [("dlm", "1.0")]))
  }

  @Test func measures() {
    let measures = ReportContents(Self.report).measures.map { ([$0.name] + $0.values).joined(separator: " | ") }
    #expect(
      measures == [
        "Time, median | 42.0 ms | 20.0 ms", "Spread | ± 5 % | –", "Speed, sequential = 1 | 1 | 2.1",
        "Goodput | 23.3 KiB/s | 48.8 KiB/s", "Time to first byte, median | 20.0 ms | –", "CPU time | 5.00 ms | –",
        "Peak memory | 2.0 MiB | –", "Connections | 1 | –", "Requests | 1 | –", "Retries | 1 | –",
        "Files at once, at most | 1 | –", "Per file: looking up | – | –", "Per file: connecting | 10 ms | –",
        "Per file: TLS | – | –", "Per file: waiting | 10 ms | –", "Per file: receiving | 10 ms | –",
      ])
  }

  @Test func json() {
    let run = """
      {"bytes":1000,"connections":null,"cpu":null,"files":1,"firstByte":null,"mostAtOnce":null,\
      "peakMemory":null,"phases":{},"requests":null,"retries":null,"round":2,"wall":
      """
    #expect(
      Self.small.json == """
        {"command":"dlm compare a|b.txt","conclusion":{"certainty":"unknown","equals":[],"reference":"sequential",\
        "speed":{"deviation":null,"factor":2.1},"winner":"parallel -j 4"},"date":"2026-11-23",\
        "headline":"2 × as <fast>","list":"a|b.txt","machine":[{"name":"dlm","value":"1.0"}],"modes":[\
        {"bytesPerSecond":23809.524,"files":[{"bytes":1000,"failed":false,"spans":[\
        {"begin":0.0,"end":10.0,"phase":"connect"},{"begin":10.0,"end":20.0,"phase":"waiting"},\
        {"begin":20.0,"end":30.0,"phase":"receiving"},{"begin":30.0,"end":31.0,"phase":"finishing"}],\
        "url":"http://h/a?x-amz-signature=…"}],\
        "jobs":null,"maximum":44.0,"mean":42.0,"median":42.0,"medianRound":1,"minimum":40.0,"mode":"sequential",\
        "name":"sequential","runs":[\
        {"bytes":1000,"connections":1,"cpu":5.0,"files":1,"firstByte":20.0,"mostAtOnce":1,"peakMemory":2097152,\
        "phases":{"connect":10.0,"finishing":1.0,"receiving":10.0,"waiting":10.0},"requests":1,"retries":1,\
        "round":1,"wall":40.0},\(run)44.0}],"speed":null,"spread":0.048,"standardDeviation":2.828},\
        {"bytesPerSecond":50000.0,"files":[],"jobs":4,"maximum":20.0,"mean":20.0,"median":20.0,"medianRound":2,\
        "minimum":20.0,"mode":"parallel","name":"parallel -j 4","runs":[\(run)20.0}],\
        "speed":{"deviation":null,"factor":2.1},"spread":null,"standardDeviation":null}],\
        "notes":["Only *one* run."],"version":1}
        """)
  }

  @Test("are JSON", arguments: SamplePages.all.map(\.name))
  func areWellFormed(name: String) throws {
    let pages = try #require(SamplePages.all.first { $0.name == name }?.pages)
    let object = try JSONSerialization.jsonObject(with: Data(pages.json.utf8)) as? [String: Any]
    #expect(object?["version"] as? Int == 1)
    #expect(!pages.json.utf8.contains(0x0A))
  }

  @Test("names everything that a page has")
  func pageIsWhole() throws {
    let html = SamplePages.threeModes.html
    for part in [
      "<h1>parallel is 9.4 ± 0.2 times as fast as sequential, and async-let comes next.</h1>",
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'",
      "half the range between fastest and slowest run, as a part of the median", "<li>leaf-1000.jpg</li>",
      "± is one standard deviation",
      "<dt>libcurl</dt><dd>8.14.1 (OpenSSL 3.5.1)</dd>",
      "The server took no more than 16 connections at a time.",
      "dlm compare leaves.txt --runs 5 -j 16", "2026-11-23T07:31:39Z",
      "leaves.txt · 40 files, 9.0 MiB, 5 runs a mode",
      "@media print", "prefers-color-scheme:dark", "<th scope=\"row\">Per file: TLS</th>",
    ] { #expect(html.contains(part), "\(part)") }
    #expect(html.components(separatedBy: "class=\"fall\"").count == 4)
    // Nothing of the template is left, and nothing is fetched.
    #expect(!html.contains("{{") && !html.contains("}}}"))
    for forbidden in ["src=", "@import", "url(", "<link", "http-equiv=\"refresh"] {
      #expect(!html.contains(forbidden), "\(forbidden)")
    }
  }

  @Test("of a single run compares nothing")
  func oneRun() throws {
    let pages = SamplePages.oneRun
    let html = pages.html
    #expect(!html.contains("id=\"h-time\"") && !html.contains("class=\"bar"))
    #expect(html.components(separatedBy: "class=\"fall\"").count == 2)
    #expect(html.components(separatedBy: "<path class=\"failed\"").count == 3)
    #expect(!html.contains("Spread") && !html.contains("Speed"))
    #expect(pages.json.contains("\"failed\":true"))
  }

  @Test("without details has bars and a table, and no script")
  func noDetails() throws {
    let html = SamplePages.noDetails.html
    #expect(html.contains("id=\"h-time\"") && html.contains("<td>–</td>"))
    #expect(!html.contains("class=\"fall\"") && !html.contains("<script"))
  }

  @Test("of no runs at all is a page as well")
  func nothing() throws {
    let pages = ReportPages(
      ComparisonReport(measurements: []),
      ReportFacts(list: "", command: "", date: "", headline: "Nothing ran."))
    #expect(pages.html.contains("<h1>Nothing ran.</h1>"))
    #expect(pages.json.contains("\"modes\":[]"))
  }

  @Test("lets nothing out of a text from outside")
  func hostile() throws {
    let pages = SamplePages.hostilePages
    for page in [pages.html] {
      #expect(!page.contains("<script>alert") && !page.contains("alert(1)</script>"))
      #expect(!page.unicodeScalars.contains { $0 == "\u{202E}" || $0 == "\u{7}" })
      // By scalars: as a Character, the quote is none.
      #expect(
        Array(page.unicodeScalars).split(separator: "\u{301}").dropLast().allSatisfy {
          $0.last == ";" || $0.last == "\""
        })
    }
    #expect(
      pages.html.contains(
        "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#39;&amp; gpj.exe&quot;\u{301} onload=x"))
    #expect(!pages.json.unicodeScalars.contains { $0 == "\u{202E}" || $0 == "\u{7}" })
  }

  @Test("of a thousand files in three modes stays below 300 KiB")
  func size() throws {
    let html = SamplePages.thousand.html
    #expect(html.utf8.count < 300 * 1024, "\(html.utf8.count)")
    #expect(html.contains("leaf-100000-large.jpeg") && html.contains("999 "))
    // A path a phase and mode, and no row of its own.
    #expect(html.components(separatedBy: "<path class=\"row").count < 3 * 7 + 7 + 2)
    #expect(!html.contains("class=\"names\""))
  }
}
