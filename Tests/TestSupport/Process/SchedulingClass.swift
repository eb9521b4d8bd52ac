import Foundation
import Glibc

extension CommandRun {
  /// The scheduling policies of its threads (proc(5), field 41 of stat): 0 is the usual one, 5 is SCHED_IDLE.
  package func schedulingPolicies() throws -> Set<String> {
    Set(
      try threads().compactMap { thread in
        let path = "/proc/\(processID)/task/\(thread)/stat"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), let name = text.lastIndex(of: ")") else {
          return nil
        }
        return text[name...].split(separator: " ").dropFirst(39).first.map(String.init)
      })
  }

  /// Takes its threads out of the idle class until it has ended: beside busy processes they would get no time.
  package func leaveIdleClass() {
    Thread.detachNewThread { [self] in
      while !hasEnded {
        var parameters = sched_param()
        for thread in (try? threads()) ?? [] { sched_setscheduler(thread, 0, &parameters) }
        usleep(10_000)
      }
    }
  }

  private func threads() throws -> [pid_t] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/task").compactMap { pid_t($0) }
  }
}
