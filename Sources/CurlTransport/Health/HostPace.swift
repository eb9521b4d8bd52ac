import Dispatch
import Glibc

/// What a host brings to one loop, and what to do once that has collapsed, to less than a tenth for a while. Pure. Only
/// bodies that came all the time between two looks count: short files, waits and pauses say nothing.
struct HostPace: Equatable {
  enum Step: Equatable {
    case goOn, narrow
    /// To the host's next address, for the nth time.
    case move(Int)
  }

  /// Bytes a second: smoothed, since a burst is no rate; the most of that, and by how many transfers; those of now.
  private var smoothed = 0.0
  private var most = 0.0
  private var width = 1
  private var last = 0.0
  /// In nanoseconds.
  private var low: UInt64 = 0
  private var steps = 0

  /// - Parameters:
  ///   - time: nanoseconds since the last look, as far as they count.
  ///   - patience: for how many it must bring too little.
  mutating func look(_ bytes: Int64, by transfers: Int, after time: UInt64, _ patience: UInt64) -> Step {
    guard transfers > 0, time > 0 else { return .goOn }
    last = Double(bytes) / Double(time) * 1e9
    // Fewer transfers may bring less.
    guard last < most / 10 * min(1, Double(transfers) / Double(width)) else {
      low = 0
      steps = last < most / 2 ? steps : 0
      smoothed += (last - smoothed) * min(1, Double(time) / Double(patience))
      if smoothed > most {
        most = smoothed
        width = transfers
      }
      return .goOn
    }
    low += time
    if low < patience { return .goOn }
    low = 0
    steps = max(steps, transfers > 1 ? 0 : 1) + 1
    return steps == 1 ? .narrow : .move(steps - 1)
  }

  var words: String { "\(Pace.words(Int64(last))) where \(Pace.words(Int64(most))) were" }

  /// The addresses of a host, in the system's order.
  static func addresses(of host: String) async -> [String] {
    await withCheckedContinuation { answer in DispatchQueue.global().async { answer.resume(returning: lookUp(host)) } }
  }

  private static func lookUp(_ host: String) -> [String] {
    var hints = addrinfo()
    var first: UnsafeMutablePointer<addrinfo>?
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    guard getaddrinfo(host, nil, &hints, &first) == 0, let first else { return [] }
    defer { freeaddrinfo(first) }
    let all = sequence(first: first) { $0.pointee.ai_next }
    return all.filter { hasRoute(to: $0.pointee) }.map { entry in
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      _ = getnameinfo(entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, 1025, nil, 0, NI_NUMERICHOST)
      return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
  }

  /// Most names have IPv6 addresses too, and many machines no way to them. Nothing is sent.
  private static func hasRoute(to entry: addrinfo) -> Bool {
    let socket = Glibc.socket(entry.ai_family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { Glibc.close(socket) }
    return Glibc.connect(socket, entry.ai_addr, entry.ai_addrlen) == 0
  }
}
