import DownloadModel
import Foundation
import Glibc
import TerminalProgress

/// What is asked at the terminal.
enum QuestionMessages {
  /// - Parameters:
  ///   - typed: the name as far as it was typed.
  ///   - note: why the last answer could not be taken; nil for a first one.
  ///   - waiting: questions behind this one.
  static func lines(_ question: Question, typed: String, note: String?, waiting: Int) -> [String] {
    let outcome = question.outcome
    let more = waiting > 0 ? "   (\(waiting) more \(waiting == 1 ? "question" : "questions"))" : ""
    switch question.kind {
    case .conflict(let standing):
      let type = outcome.mediaType.map { ", \($0)" } ?? ""
      return [
        "\(outcome.wantedName) is here already (\(standing)). "
          + "The new one: \(Quantity.bytes(outcome.size))\(type).\(more)",
        note
          ?? "[k]eep both (the new one is \(question.savedName))  [r]eplace  [s]kip the new one   "
          + "capital letter: for all",
      ]
    case .name:
      return [
        "\(question.request.address) (\(Quantity.bytes(outcome.size)))\(more)",
        "Name: \(typed)_   \(note ?? "Enter takes it")",
      ]
    }
  }

  /// Why a name could not be given.
  static func refusal(_ error: DownloadError) -> String {
    error.cause == .errno(EEXIST) ? "that name is taken" : error.reason
  }

  static func passphrase(of path: String) -> String { "Pass phrase for \(path): " }

  /// `1.2 MiB, of 2026-11-20 18:22`
  static func standing(_ path: String) -> String {
    var status = stat()
    guard lstat(path, &status) == 0 else { return "no longer there" }
    let format = Date.ISO8601FormatStyle(
      dateSeparator: .dash, dateTimeSeparator: .space, timeSeparator: .colon, timeZone: .current
    ).year().month().day().time(includingFractionalSeconds: false)
    let time = Date(timeIntervalSince1970: TimeInterval(status.st_mtim.tv_sec)).formatted(format)
    return "\(Quantity.bytes(Int64(status.st_size))), of \(time.dropLast(3))"
  }
}
