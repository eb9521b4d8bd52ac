import ArgumentParser
import DownloadModel
import FileReceiving
import FoundationEssentials
import Glibc
import Comparing

/// The file of `--report`, whose extension determines its form.
struct ReportFile {
  enum Form: String, CaseIterable { case html, json }

  let form: Form
  let file: OutputFile

  /// - Throws: `ValidationError` for an unknown extension, a folder, or a link.
  init(_ path: String) throws {
    let ending = path.split(separator: "/").last?.split(separator: ".").last?.lowercased()
    guard path.contains("."), let form = ending.flatMap(Form.init) else {
      throw ValidationError(
        "--report \(path): the name must end in .html or .json, which says what is written")
    }
    self.form = form
    file = try OutputFile(path, option: "--report")
  }

  /// - Returns: messages if it cannot be written.
  func write(_ report: ComparisonReport, _ facts: ReportFacts) -> [String] {
    let pages = ReportPages(report, facts)
    let text =
      switch form {
      case .html: pages.html
      case .json: pages.json + "\n"
      }
    return file.keep(text)
  }
}

extension ReportFacts {
  init(list: String, headline: String, notes: [String] = []) {
    let typed = DLM.words
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
        ("program", DLM.configuration.version), ("system", kernel),
        ("cores", "\(ProcessInfo.processInfo.activeProcessorCount)"),
      ])
  }
}
