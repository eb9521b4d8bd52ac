import ArgumentParser
import DownloadModel
import Glibc

/// `--resolve HOST:PORT:ADDRESS[,ADDRESS]…`: the addresses of a host, instead of a lookup. IPv6 addresses may stand in
/// brackets; `*` is every host.
struct ResolvedHost: ExpressibleByArgument, CustomStringConvertible {
  /// As CURLOPT_RESOLVE takes it: libcurl looks hosts up in their ASCII form.
  let description: String

  init?(argument: String) {
    let parts = argument.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let port = UInt16(parts[1]), port > 0 else { return nil }
    let addresses = parts[2].split(separator: ",", omittingEmptySubsequences: false)
    guard addresses.allSatisfy({ Self.isAddress($0) }) else { return nil }
    var host = "*"
    if parts[0] != "*" {
      guard let address = try? Address("http://\(parts[0])/") else { return nil }
      host = address.host
    }
    description = "\(host):\(port):\(parts[2])"
  }

  /// - Parameter text: an address, in brackets or not.
  static func isAddress(_ text: Substring) -> Bool {
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let plain = isBracketed ? text.dropFirst().dropLast() : text
    var address = in6_addr()
    return inet_pton(AF_INET6, String(plain), &address) == 1
      || !isBracketed && inet_pton(AF_INET, String(plain), &address) == 1
  }
}
