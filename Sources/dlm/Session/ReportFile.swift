import ArgumentParser
import DownloadModel
import FileReceiving
import FoundationEssentials
import Glibc
import Comparing
import Synchronization

/// The file of `--report`, whose ending gives its form.
struct ReportFile {
  enum Form: String, CaseIterable { case html, json, md }

  let form: Form
  let file: OutputFile

  /// - Throws: `ValidationError` for an unknown ending, a folder, or a link.
  init(_ path: String) throws {
    let ending = path.split(separator: "/").last?.split(separator: ".").last.map { String($0).lowercased() }
    guard path.contains("."), let form = ending.flatMap(Form.init) else {
      throw ValidationError(
        "--report \(path): the name must end in .html, .json or .md, which says what is written")
    }
    self.form = form
    file = try OutputFile(path, option: "--report")
  }

  /// - Returns: what to say where it cannot be written.
  func write(_ report: ComparisonReport, _ facts: ReportFacts) -> [String] {
    let pages = ReportPages(report, facts)
    let text =
      switch form {
      case .html: pages.html
      case .json: pages.json + "\n"
      case .md: pages.markdown
      }
    return file.keep(text)
  }
}

extension ReportFacts {
  init(list: String, headline: String, notes: [String] = []) {
    let typed = Array(CommandLine.arguments.dropFirst())
    let command = ["dlm"] + typed.map { CommandLineText.quoted(UsageMessages.withoutSecrets($0, typed)) }
    var system = utsname()
    func text(_ field: some Any) -> String {
      withUnsafeBytes(of: field) { String(utf8: $0.prefix { $0 != 0 }) }
    }
    let kernel =
      uname(&system) == 0
      ? "\(text(system.sysname)) \(text(system.release)), \(text(system.machine))" : "unknown"
    self.init(
      list: list, command: command.joined(separator: " "),
      date: TimeText.utc(milliseconds: WallClock.milliseconds()), headline: headline, notes: notes,
      machine: [
        (name: "program", value: DLM.configuration.version), (name: "system", value: kernel),
        (name: "cores", value: "\(ProcessInfo.processInfo.activeProcessorCount)"),
      ])
  }
}

/// Notes what a run does and takes, for a report of it. From any thread.
final class RunRecorder: Sendable {
  private struct State {
    var start: UInt64 = 0
    var transfers: [TransferTimes] = []
    var details = RunDetails()
  }

  private let state = Lock(State())
  /// Between two looks at the limits of hosts.
  private static let lookInterval = Duration.milliseconds(100)

  func begin() {
    ProcessUsage.forgetPeakMemory()
    state.withLock { state in
      state.details.processorTime = ProcessUsage.processorTime
      state.start = Self.now
    }
  }

  func add(_ times: TransferTimes) { state.withLock { $0.transfers.append(times) } }

  func ended(_ request: DownloadRequest, _ result: DownloadResult) {
    let now = Self.now
    guard case .success(let outcome) = result else { return }
    state.withLock { state in
      state.details.ends[request.address.key] = .nanoseconds(Int64(clamping: now - state.start))
      // An equal request, which is answered from this one's file, has none.
      if let bytes = outcome.bodyBytes { state.details.bytes[request.address.key] = bytes }
    }
  }

  func end(_ width: RunWidth) {
    let processorTime = ProcessUsage.processorTime
    let peakMemory = ProcessUsage.peakMemory
    state.withLock { state in
      state.details.processorTime = processorTime - state.details.processorTime
      state.details.peakMemory = peakMemory
      state.details.mostAtOnce = width.peak
      state.details.waited = width.waited
    }
  }

  /// Notes how many connections hosts were found to take, until the task is cancelled.
  func watchHosts(of feed: ProgressFeed) async {
    let reader = feed.reader(of: .events)
    while !Task.isCancelled {
      for host in reader.take().hosts where host.isLearnt {
        state.withLock { $0.details.hostLimits[host.host] = host.limit }
      }
      // A clock's sleep ends early only for a cancelled task.
      try? await Task.sleep(for: Self.lookInterval)
    }
  }

  var details: RunDetails {
    state.withLock { state in
      var details = state.details
      details.transfers = RunDetails(transfers: state.transfers, since: state.start).transfers
      details.retries = details.transfers.count { $0.times.hasFailed && !$0.times.isSegment }
      return details
    }
  }

  /// The clock of the transport's times, in nanoseconds.
  private static var now: UInt64 { UInt64(max(0, ProcessUsage.time(of: CLOCK_MONOTONIC) / .nanoseconds(1))) }
}
