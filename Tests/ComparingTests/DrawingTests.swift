import DownloadModel
import TerminalProgress
import Testing

@testable import Comparing

@Suite("Drawings of a report, as functions of values")
struct DrawingTests {
  // MARK: The time axis

  @Test(arguments: [
    (0, 0), (1, 100), (50, 5000), (100, 10_000), (200, 10_000), (-3, 0),
  ])
  func placesTimes(milliseconds: Int, place: Int) {
    #expect(TimeAxis(end: .milliseconds(100)).place(.milliseconds(milliseconds)) == place)
  }

  @Test("has an end even for a run that took no time")
  func axisOfNothing() {
    let axis = TimeAxis(end: .zero)
    #expect(axis.place(.zero) == 0)
    #expect(axis.percentage(.seconds(1)) == "100%")
  }

  @Test(arguments: [
    (Duration.milliseconds(4390), ["0", "1 s", "2 s", "3 s", "4 s"]),
    (.seconds(5), ["0", "2 s", "4 s"]),
    (.milliseconds(653), ["0", "0.2 s", "0.4 s", "0.6 s"]),
    (.milliseconds(412), ["0", "0.1 s", "0.2 s", "0.3 s", "0.4 s"]),
    (.milliseconds(80), ["0", "20 ms", "40 ms", "60 ms", "80 ms"]),
    (.microseconds(1200), ["0", "0.5 ms", "1 ms"]),
    (.seconds(58), ["0", "20 s", "40 s"]),
    (.zero, ["0", "0.5 ms", "1 ms"]),
  ])
  func ticks(end: Duration, labels: [String]) {
    #expect(TimeAxis(end: end).ticks(atMost: 4).map { $0.label } == labels)
  }

  // MARK: The waterfall

  /// One after the other on a connection: 10 ms of connecting, waiting, and receiving each.
  private static let files = FileTimeline.all(
    details([
      ("http://h/b", begin: 0, connected: 10, firstByte: 20, end: 30),
      ("http://h/a", begin: 40, connected: nil, firstByte: 50, end: 90),
    ]))

  @Test(arguments: [
    // Each span starts where the one before it ended: 4,000 to the right, a row down.
    (FilePhase.queued, "m0 15h4000"), (.lookingUp, ""), (.connecting, "m0 5h1000"), (.securing, ""),
    (.waiting, "m1000 5h1000m2000 10h1000"), (.receiving, "m2000 5h1000m2000 10h4000"),
    // The second is put in its place until 100 ms.
    (.finishing, "m3000 5h100m5900 10h1000"),
  ])
  func pathOfAPhase(phase: FilePhase, path: String) {
    let fall = RunWaterfall(files: Self.files, axis: TimeAxis(end: .milliseconds(100)))
    #expect(fall.path(phase) == path)
  }

  @Test("draws the longest work of a file so that it can be seen, whatever the axis")
  func shortFilesAreSeen() {
    let fall = RunWaterfall(files: Self.files, axis: TimeAxis(end: .seconds(100)))
    #expect(fall.path(.receiving) == "m2 5h1m2 10h10")
    // Not beyond the end.
    let late = RunWaterfall(files: Self.files, axis: TimeAxis(end: .milliseconds(50)))
    #expect(late.path(.receiving) == "m4000 5h2000m3975 10h25")
  }

  @Test("marks where a file failed")
  func failures() {
    var details = Self.details([("http://h/b", begin: 0, connected: 10, firstByte: nil, end: 50)])
    details.ends = [:]
    let files = FileTimeline.all(details)
    let fall = RunWaterfall(files: files, axis: TimeAxis(end: .milliseconds(100)))
    #expect(fall.failures == "M5000 0v10")
    #expect(fall.markup.contains("<path class=\"failed\" d=\"M5000 0v10\"/>"))
    #expect(fall.path(.receiving) == "")
  }

  @Test(arguments: [
    (0, 16.0), (1, 16), (32, 15), (40, 12), (62, 12), (64, 7.5), (100, 4.8), (160, 3), (250, 3), (1000, 0.75),
    (7500, 0.1),
  ])
  func rowsGetLower(files: Int, height: Double) {
    #expect(RunWaterfall.rowHeight(files) == height)
  }

  @Test(
    "are no less than a pixel thick where rows are lower, but for the queue", arguments: FilePhase.allCases)
  func thickness(phase: FilePhase) {
    let axis = TimeAxis(end: .seconds(1))
    let many = RunWaterfall(files: (0..<500).map { _ in Self.files }.flatMap { $0 }, axis: axis)
    let pixels = many.thickness(phase) * RunWaterfall.rowHeight(1000) / 10
    #expect(phase == .queued ? pixels < 0.3 : pixels >= 1, "\(pixels)")
    // In a high row it is what the legend shows.
    let few = RunWaterfall(files: Self.files, axis: axis)
    #expect(few.thickness(phase) == phase.height.part * 10 || phase == .queued)
  }

  // MARK: Curves

  @Test("spread a transfer's bytes over the time in which they came")
  func throughput() {
    let details = Self.details(
      [("http://h/a", begin: 0, connected: nil, firstByte: 50, end: 90)], bytes: 4000)
    let axis = TimeAxis(end: .milliseconds(160))
    let curve = RunCurve.throughput(details, on: axis)
    #expect(curve.values.count == RunCurve.pieces)
    for (piece, value) in curve.values.enumerated() {
      let expected = (50..<90).contains(piece) ? 100_000.0 : 0
      #expect(abs(value - expected) < 1e-3, "piece \(piece)")
    }
    #expect(curve.path(top: 100_000) == "M0 1000H3125V0H5625V1000Z")
  }

  @Test("lose no byte: the area is what was transferred")
  func areaIsBytes() {
    let run = SampleRuns().run(.parallel, .lanes(16), round: 1)
    let axis = TimeAxis(end: run.wall)
    let seconds = run.wall / .seconds(1) / Double(RunCurve.pieces)
    let area = RunCurve.throughput(run.details, on: axis).values.reduce(0) { $0 + $1 * seconds }
    #expect(abs(area - Double(run.bytes)) < 1)
  }

  @Test("count the bytes of a transfer without a first byte at its end")
  func bytesAtOnce() {
    let details = Self.details(
      [("http://h/a", begin: 0, connected: nil, firstByte: nil, end: 160)], bytes: 10)
    let curve = RunCurve.throughput(details, on: TimeAxis(end: .milliseconds(160)))
    #expect(abs((curve.values.last ?? 0) - 10_000) < 1e-3)
  }

  @Test("count the files at work, and none of those that wait for their turn")
  func filesAtWork() {
    let curve = RunCurve.filesAtWork(Self.files, on: TimeAxis(end: .milliseconds(160)))
    #expect(abs(curve.values[5] - 1) < 1e-9)
    #expect(curve.values[35] == 0)
    #expect(abs(curve.values[45] - 1) < 1e-9)
    #expect(curve.values[120] == 0)
  }

  // MARK: Bars

  @Test("draw the median, the runs and what is between the fastest and the slowest")
  func bars() {
    let runs = [(ComparedMode.sequential, [4, 4, 4]), (.parallel, [1, 4, 2])].flatMap { mode, seconds in
      seconds.enumerated().map { RunMeasurement(mode: mode, round: $0, wall: .seconds($1), files: 1, bytes: 1) }
    }
    let bars = SpeedBars(modes: ReportContents(ComparisonReport(measurements: runs)).modes)
    let markup = bars.markup
    #expect(markup.contains("<rect class=\"bar won\" y=\"85\" rx=\"2\" width=\"50%\" height=\"13\"/>"))
    #expect(markup.contains("x1=\"25%\" x2=\"100%\" y1=\"107\" y2=\"107\""))
    #expect(markup.contains("parallel</text>"))
    #expect(markup.split(separator: "<circle").count == 7)
    #expect(
      bars.words == "sequential: 4.00 s · 1 ×; 3 runs from 4.00 s to 4.00 s. "
        + "parallel: 2.00 s · 2.0 ± 1.5 ×; 3 runs from 1.00 s to 4.00 s.")
  }

  // MARK: Which run stands for a mode

  @Test(arguments: [
    ([300, 100, 210, 500, 200], 3), ([100], 1), ([100, 200], 1), ([200, 100], 1), ([400, 100, 190, 210], 3),
  ])
  func medianRun(milliseconds: [Int], round: Int) throws {
    let runs = milliseconds.enumerated().map { index, time in
      RunMeasurement(
        mode: .parallel, round: index + 1, wall: .milliseconds(time), files: 1, bytes: 1)
    }
    let result = try #require(ModeResult(mode: .parallel, runs: runs))
    #expect(result.medianRun.round == round)
  }

  static func details(
    _ files: [(address: String, begin: Int, connected: Int?, firstByte: Int?, end: Int)], bytes: Int64 = 0
  ) -> RunDetails {
    var ends: [String: Duration] = [:]
    let transfers = files.map { file in
      var times = TransferTimes(
        address: file.address, begin: UInt64(file.begin) * 1_000_000,
        end: .milliseconds(file.end - file.begin))
      times.connected = file.connected.map { .milliseconds($0 - file.begin) }
      times.connections = file.connected == nil ? 0 : 1
      times.firstByte = file.firstByte.map { .milliseconds($0 - file.begin) }
      times.bytes = bytes
      // A millisecond for the first to be finished, and ten for a later one.
      ends[file.address] = .milliseconds(file.end + (file.begin == 0 ? 1 : 10))
      return times
    }
    return RunDetails(transfers: transfers, since: 0, ends: ends)
  }
}

@Suite("The look of a page")
struct PagePaletteTests {
  static let palettes = ["light": PagePalette.light, "dark": PagePalette.dark]

  @Test("is legible: 4.5:1 for texts, 3:1 for drawings (WCAG 2.2)", arguments: palettes.keys.sorted())
  func contrasts(name: String) throws {
    let palette = try #require(Self.palettes[name])
    func color(_ name: String) throws -> String { try #require(palette[name]) }
    for text in ["ink", "soft"] {
      for ground in ["paper", "shade"] {
        #expect(try Self.contrast(color(text), color(ground)) >= 4.5, "\(text) on \(ground)")
      }
    }
    for name in FilePhase.allCases.map(\.style) + ["accent", "muted", "failed"] {
      #expect(try Self.contrast(color(name), color("paper")) >= 3, "\(name)")
    }
  }

  @Test("tells phases that follow each other apart without colours", arguments: palettes.keys.sorted())
  func lightness(name: String) throws {
    let palette = try #require(Self.palettes[name])
    for (one, other) in zip(FilePhase.allCases, FilePhase.allCases.dropFirst()) {
      let (first, second) = (try #require(palette[one.style]), try #require(palette[other.style]))
      let isOtherHeight = abs(one.height.part - other.height.part) > 0.15
      #expect(try isOtherHeight || Self.contrast(first, second) > 1.25, "\(one) and \(other)")
    }
  }

  static func contrast(_ one: String, _ other: String) throws -> Double {
    let (first, second) = (try luminance(one), try luminance(other))
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)
  }

  private static func luminance(_ color: String) throws -> Double {
    let value = try #require(Int(color.dropFirst(), radix: 16))
    let weights = [0.2126, 0.7152, 0.0722]
    return zip([16, 8, 0], weights).reduce(0) { sum, part in
      let channel = Double(value >> part.0 & 0xFF) / 255
      return sum + part.1 * (channel <= 0.04045 ? channel / 12.92 : power((channel + 0.055) / 1.055))
    }
  }

  /// To the power of 2.4, by Newton's steps towards the fifth root of the twelfth power.
  private static func power(_ value: Double) -> Double {
    let twelfth = (0..<12).reduce(1.0) { product, _ in product * value }
    var root = value * value
    for _ in 0..<60 where root > 0 {
      let fourth = root * root * root * root
      root -= (fourth * root - twelfth) / (5 * fourth)
    }
    return root
  }
}

@Suite("Texts in a page")
struct MarkupTests {
  @Test(arguments: [
    ("plain", "plain"), ("<a href=\"x\" b='y'>&amp;", "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;"),
    // A quote is a quote, whatever combines with it.
    ("\"\u{301}<\u{338}", "&quot;\u{301}&lt;\u{338}"),
    ("a\nb\r\nc\td", "a b c d"), ("\u{202E}gpj.exe\u{7}\u{1B}[2J", "gpj.exe[2J"),
    ("a\u{FFFE}b\u{FFFF}c", "abc"),
    ("https://u:p@h/x?X-Amz-Signature=1f", "https://h/x?X-Amz-Signature=…"),
  ])
  func areEscaped(text: String, markup: String) {
    #expect(Markup.text(text).unicodeScalars.elementsEqual(markup.unicodeScalars))
  }

  @Test("cannot end a script")
  func script() {
    #expect(Markup.script(.text("</script><!-- & \"")) == "\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\\"\"")
  }

  @Test(
    arguments: [
      (0, "0"), (12, "12"), (0.5, "0.5"), (3.25, "3.25"), (-3.25, "0"), (1.005, "1"), (2.999, "3"), (0.049, "0.05"),
      (-0.001, "0"), (.nan, "0"), (.infinity, "0"), (1e15, "1000000000000"),
    ] as [(Double, String)])
  func numbers(value: Double, text: String) { #expect(Markup.number(value) == text) }

  @Test(
    arguments: [
      (5.23, 0.31, "5.2 ± 0.3"), (0.482, 0.02, "0.48 ± 0.02"), (10.4, 0.01, "10.40 ± 0.01"), (1, nil, "1.0"),
      (12.96, nil, "13.0"), (5, 0, "5.00 ± 0.01"),
    ] as [(Double, Double?, String)])
  func factors(factor: Double, deviation: Double?, text: String) {
    #expect(RelativeSpeed(factor: factor, deviation: deviation).text == text)
  }

  @Test(arguments: [
    (Duration.microseconds(420), "0.42 ms"), (.microseconds(12_540), "12.5 ms"),
    (.milliseconds(1240), "1,240 ms"),
    (.zero, "0 ms"),
  ])
  func milliseconds(time: Duration, text: String) { #expect(Markup.milliseconds(time) == text) }
}
