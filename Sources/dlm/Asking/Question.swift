import DownloadCaching
import DownloadModel
import Foundation
import Glibc
import TerminalProgress

/// What is asked about one finished file, and how keys answer it: a value, no terminal.
struct Question: Sendable {
  enum Kind: Sendable, Equatable {
    /// Another file stands under its name.
    case conflict(standing: String)
    /// How it is to be called.
    case name
  }

  let request: DownloadRequest
  let outcome: DownloadOutcome
  let kind: Kind

  /// - Parameter asksNames: `--ask-names`.
  /// - Returns: nil if there is nothing to ask.
  init?(_ request: DownloadRequest, _ outcome: DownloadOutcome, asksConflicts: Bool, asksNames: Bool) {
    guard outcome.kind == .fetched || outcome.kind == .copied, outcome.remark != .sameAsHere else {
      return nil
    }
    self.request = request
    self.outcome = outcome
    if asksNames {
      kind = .name
    } else if asksConflicts, let path = outcome.renamedFrom {
      kind = .conflict(standing: Self.describe(path))
    } else {
      return nil
    }
  }

  /// `1.2 MiB, of 2026-11-20 18:22`
  private static func describe(_ path: String) -> String {
    var status = stat()
    guard lstat(path, &status) == 0 else { return "no longer there" }
    let format = Date.ISO8601FormatStyle(
      dateSeparator: .dash, dateTimeSeparator: .space, timeSeparator: .colon, timeZone: .current
    ).year().month().day().time(includingFractionalSeconds: false)
    let time = Date(timeIntervalSince1970: TimeInterval(status.st_mtim.tv_sec)).formatted(format)
    return "\(Quantity.bytes(Int64(status.st_size))), of \(time.dropLast(3))"
  }

  var savedName: String { outcome.name }

  /// - Parameters:
  ///   - typed: the name as far as it was typed.
  ///   - waiting: questions behind this one.
  func lines(typed: String, note: String?, waiting: Int) -> [String] {
    let more = waiting > 0 ? "   (\(waiting) more \(waiting == 1 ? "question" : "questions"))" : ""
    switch kind {
    case .conflict(let standing):
      let type = outcome.mediaType.map { ", \($0)" } ?? ""
      return [
        "\(outcome.wantedName) is here already (\(standing)). "
          + "The new one: \(Quantity.bytes(outcome.size))\(type).\(more)",
        note
          ?? "[k]eep both (the new one is \(savedName))  [r]eplace  [s]kip the new one   capital letter: for all",
      ]
    case .name:
      return [
        "\(request.address) (\(Quantity.bytes(outcome.size)))\(more)",
        "Name: \(typed)_   \(note ?? "Enter takes it")",
      ]
    }
  }

  /// What a key says to a conflict, and whether it says so for all that follow.
  static func decision(for key: UInt8) -> (NameDecision, forAll: Bool)? {
    switch key {
    case UInt8(ascii: "k"), 0x0A, 0x0D: (.keep, false)
    case UInt8(ascii: "K"): (.keep, true)
    case UInt8(ascii: "r"): (.replace, false)
    case UInt8(ascii: "R"): (.replace, true)
    case UInt8(ascii: "s"): (.discard, false)
    case UInt8(ascii: "S"): (.discard, true)
    default: nil
    }
  }
}

/// A line as it is typed: UTF-8 comes a byte at a time, and arrow keys as three.
struct TypedLine: Sendable {
  private var bytes: [UInt8]
  private var escape = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  /// What is complete of it.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// - Returns: true when Enter was pressed.
  mutating func take(_ key: UInt8) -> Bool {
    if escape > 0 {
      // CSI: parameters, then a final byte of 0x40 and more.
      escape = escape == 1 && key == UInt8(ascii: "[") ? 2 : (escape == 2 && key < 0x40 ? 2 : 0)
      return false
    }
    switch key {
    case 0x0A, 0x0D: return true
    case 0x1B: escape = 1
    case 0x15: bytes = []  // Ctrl-U
    case 0x08, 0x7F: bytes = Array(text.dropLast().utf8)
    case 0..<0x20: break
    default: bytes.append(key)
    }
    return false
  }
}
