import Comparing
import DownloadModel
import TerminalProgress

/// The size and duration of a comparison: from the sizes in the list, else from earlier runs.
struct ComparisonCost {
  let runs: Int
  let files: Int
  /// Of the list; `nil` if unknown.
  let bytes: Int64?
  /// Of all runs together; `nil` if unknown.
  var seconds: Double?

  /// Above this size, a question is asked at a terminal.
  private static let small: Int64 = 1 << 30

  /// - Parameters:
  ///   - past: the runs of this folder, the oldest first.
  ///   - listDigest: the list's.
  init(_ requests: [DownloadRequest], _ plan: ComparisonPlan, _ past: [PastRun], _ listDigest: String) {
    runs = plan.steps.count
    let own = requests.filter { !$0.isRepeat }
    files = own.count
    let earlier = past.filter { $0.listDigest == listDigest }
    let most = earlier.map(\.transferredBytes).max()
    let sizes = own.compactMap(\.expectedSize)
    var listed = ExpectedSizes()
    for size in sizes { listed.add(size) }
    bytes = sizes.count == files ? listed.bytes : most
    let whole = earlier.filter { $0.transferredBytes == most }
    let times = plan.steps.map { Self.seconds(of: $0.mode.mode, whole) }
    let known = times.compactMap(\.self)
    seconds = known.count == runs ? known.reduce(0, +) : nil
    // The rate of another list's run may be similar.
    guard seconds == nil, let bytes, let rate = past.lastRate else { return }
    seconds = Double(bytes) * Double(runs) / rate
  }

  private static func seconds(of mode: DownloadMode, _ past: [PastRun]) -> Double? {
    if let own = past.last(where: { $0.mode == mode }) { return own.seconds }
    return mode == .sequential ? past.map(\.sequentialSeconds).min() : past.last { $0.mode != .sequential }?.seconds
  }

  /// Of all runs; `nil` if unknown.
  private var total: Int64? {
    guard let bytes else { return nil }
    let (product, isBeyond) = bytes.multipliedReportingOverflow(by: Int64(runs))
    return isBeyond ? .max : product
  }

  var isLarge: Bool { total ?? 0 > Self.small }

  /// `9 runs of 40 files: 90.0 GiB in all (10.0 GiB a run), about 12 min`
  var line: String {
    var size = "of unknown size"
    if let bytes, let total { size = "\(Quantity.bytes(total)) in all (\(Quantity.bytes(bytes)) a run)" }
    let time = seconds.map { ", about \(RepeatMessages.rounded($0))" } ?? ""
    return "\(Quantity.count(runs, "run", "runs")) of \(Quantity.files(files)): \(size)\(time)"
  }
}
