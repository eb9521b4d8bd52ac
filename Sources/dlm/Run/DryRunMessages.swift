import DownloadModel
import TerminalProgress

enum DryRunMessages {
  static func row(_ file: DryRun.File) -> [String] {
    [file.address, file.path, file.size.map { "\($0)" } ?? "-", file.step.rawValue]
  }

  static func json(_ file: DryRun.File) -> JSONValue {
    JSONValue([
      "v": 1, "type": "file", "url": file.address, "path": file.path, "size": file.size, "here": file.here,
      "step": file.step.rawValue,
    ])
  }

  static func json(_ plan: DryRun) -> JSONValue {
    let counts = DryRun.Step.allCases.map { ($0.rawValue, plan.counts[$0] ?? 0) }
    return JSONValue([
      "v": 1, "type": "dry-run", "files": JSONValue(Dictionary(uniqueKeysWithValues: counts)), "bytes": plan.bytes,
      "unsized": plan.unsized, "free": plan.free, "seconds": plan.seconds,
    ])
  }

  static func lines(_ plan: DryRun, in folder: String) -> [String] {
    let steps = DryRun.Step.allCases.compactMap { step in
      plan.counts[step].map { ", \(Quantity.count($0)) \(step == .here ? "complete" : "to \(step.rawValue)")" }
    }
    let unsized = plan.unsized > 0 ? " and \(Quantity.files(plan.unsized)) of unknown size" : ""
    let free = plan.free.map { "; \(Quantity.bytes($0)) free in \(folder)" } ?? ""
    let line = "\(Quantity.files(plan.counts.values.reduce(0, +)))\(steps.joined()): "
    let time = plan.seconds.map { ", about \(RepeatMessages.rounded($0)) at the last rate" } ?? ""
    let trouble = "dlm: \(Quantity.bytes(plan.excess)) too little: free space, or choose another --directory"
    let head = line + "\(Quantity.bytes(plan.bytes))\(unsized) to download\(time)\(free)"
    return [head] + (plan.excess > 0 ? [trouble] : [])
  }
}
