import Foundation

/// Serves one connection on its own thread, request after request.
struct OriginConnection {
  let core: OriginCore
  let socket: LoopbackSocket
  let number: Int

  enum Outcome { case keepAlive, close, reset }

  /// A body goes out in pieces, so that its progress can be seen.
  private static let pieceSize = 65_536
  /// Far above what any client sends.
  private static let largestHead = 262_144

  func serve() {
    var outcome = Outcome.keepAlive
    var buffer: [UInt8] = []
    while outcome == .keepAlive, let request = nextRequest(&buffer) {
      let answer = core.begin(request, on: number)
      outcome = carryOut(OriginPlan(answer, to: request, date: Self.date(.now)), of: request)
    }
    if outcome == .reset { socket.awaitAcknowledgement() }
    core.willClose(number)
    if outcome == .reset { socket.reset() } else { close() }
    core.closed()
  }

  /// FIN first: `close` alone sends RST when the client has sent something that nobody read.
  private func close() {
    socket.shutDown()
    socket.close()
  }

  private func nextRequest(_ buffer: inout [UInt8]) -> OriginRequest? {
    let emptyLine = Array("\r\n\r\n".utf8)
    while true {
      if let end = buffer.firstRange(of: emptyLine) {
        let request = OriginRequest(head: buffer[..<end.lowerBound])
        buffer.removeSubrange(..<end.upperBound)
        return request
      }
      guard buffer.count < Self.largestHead, socket.receive(into: &buffer) else { return nil }
    }
  }

  func carryOut(_ plan: OriginPlan, of request: OriginRequest) -> Outcome {
    var isSettled = false
    func settle() {
      if !isSettled { core.settled() }
      isSettled = true
    }
    defer { settle() }
    for (index, step) in plan.steps.enumerated() {
      let next = plan.steps[(index + 1)...].first { $0 != .settle }
      let goesOn: Bool
      switch step {
      case .send(let bytes): goesOn = send(bytes, more: next.sendsAtOnce)
      case .body(let range):
        goesOn = send(plan.content[range], of: request, more: next.sendsAtOnce, countFirst: isSettled)
      case .stall(let gate): goesOn = socket.waitForHangUp(or: gate) != .hungUp
      case .pause(let time): goesOn = socket.waitForHangUp(for: time) != .hungUp
      case .flood:
        flood()
        goesOn = true
      case .settle:
        settle()
        goesOn = true
      case .close: return .close
      case .reset: return .reset
      }
      if !goesOn { return .close }
    }
    return .keepAlive
  }

  private func send(_ bytes: [UInt8], more: Bool) -> Bool {
    bytes.withUnsafeBytes { socket.send($0, more: more) } == bytes.count
  }

  /// - Parameter countFirst: the client may be done, and the test looking, as soon as these bytes are out.
  private func send(_ bytes: ArraySlice<UInt8>, of request: OriginRequest, more: Bool, countFirst: Bool)
    -> Bool
  {
    if countFirst { core.sent(bytes.count, of: request) }
    return bytes.withUnsafeBytes { buffer in
      var offset = 0
      while offset < buffer.count {
        let end = min(offset + Self.pieceSize, buffer.count)
        let piece = UnsafeRawBufferPointer(rebasing: buffer[offset..<end])
        let sent = socket.send(piece, more: more || end < buffer.count)
        let uncounted = countFirst ? sent - piece.count : sent
        if uncounted != 0 { core.sent(uncounted, of: request) }
        if sent < piece.count { return false }
        offset = end
      }
      return true
    }
  }

  private func flood() {
    var number = 0
    let filler = String(repeating: "x", count: 1000)
    repeat { number += 1 } while send(Array("X-Flood-\(number): \(filler)\r\n".utf8), more: false)
  }

  /// IMF-fixdate (RFC 9110 §5.6.7), without a formatter because the locale must not matter.
  static func date(_ date: Date) -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let parts = calendar.dateComponents([.weekday, .day, .month, .year, .hour, .minute, .second], from: date)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: Int?) -> String {
      let text = String(number ?? 0)
      return text.count < 2 ? "0\(text)" : text
    }
    let day = "\(days[(parts.weekday ?? 1) - 1]), \(two(parts.day)) \(months[(parts.month ?? 1) - 1])"
    return "\(day) \(parts.year ?? 0) \(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) GMT"
  }
}

extension OriginStep? {
  /// Whether it puts bytes on the wire without waiting for anything.
  fileprivate var sendsAtOnce: Bool {
    switch self {
    case .send, .body: true
    default: false
    }
  }
}
