import DownloadModel

/// Some hours of each day by the local clock, `HH:MM-HH:MM`; if they end before they begin, they go on after midnight.
struct DayHours: Equatable {
  /// Minutes since midnight.
  private let begin: Int
  private let end: Int

  init?(_ text: Substring) {
    let times = text.split(separator: "-", omittingEmptySubsequences: false).map(Self.minute)
    guard times.count == 2, let begin = times[0], let end = times[1], begin != end else { return nil }
    self.begin = begin
    self.end = end
  }

  func contain(_ minute: Int) -> Bool {
    begin < end ? (begin..<end).contains(minute) : minute >= begin || minute < end
  }

  private static func minute(_ text: Substring) -> Int? {
    let numbers = text.split(separator: ":", omittingEmptySubsequences: false)
    guard numbers.count == 2, numbers.allSatisfy({ (1...2).contains($0.count) && $0.utf8.allSatisfy { $0.isDigit } }),
      let hour = UInt8(numbers[0]),
      let minute = UInt8(numbers[1]), minute < 60, hour < 24 || hour == 24 && minute == 0
    else { return nil }
    return Int(hour) * 60 + Int(minute)
  }
}
