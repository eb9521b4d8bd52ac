import Dispatch
import Glibc

/// The addresses of a host, in the system's order.
func systemAddresses(of host: String) async -> [String] {
  await withCheckedContinuation { answer in DispatchQueue.global().async { answer.resume(returning: lookUp(host)) } }
}

private func lookUp(_ host: String) -> [String] {
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

/// Most names have IPv6 addresses, too, and many machines have no route to them. Nothing is sent.
private func hasRoute(to entry: addrinfo) -> Bool {
  let socket = Glibc.socket(entry.ai_family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  defer { Glibc.close(socket) }
  return Glibc.connect(socket, entry.ai_addr, entry.ai_addrlen) == 0
}
