import CIDN

/// The name of a host as it goes over the wire (RFC 5891; UTS #46): `bücher.example` is `xn--bcher-kva.example`.
///
/// Converted where an address is read, so that both spellings are one address: for limits, logins, the cache and the log.
enum InternationalHost {
  /// - Parameter host: as written, in UTF-8; octets may be percent-encoded (RFC 3986 §3.2.2).
  /// - Returns: ASCII, small letters; nil if the name cannot be written so.
  static func ascii(_ host: some Collection<UInt8>) -> [UInt8]? {
    guard let octets = PercentEncoding.decodeStrictly(host), String(validating: octets, as: UTF8.self) != nil
    else { return nil }
    var converted: UnsafeMutablePointer<CChar>?
    // An octet 0 would end the text there.
    guard !octets.contains(0),
      (octets + [0]).withUnsafeBytes({ bytes in
        dlm_host_to_ascii(bytes.assumingMemoryBound(to: CChar.self).baseAddress, &converted)
      }) == IDN2_OK.rawValue, let converted
    else { return nil }
    defer { idn2_free(converted) }
    let name = Array(String(cString: converted).utf8)
    return !name.isEmpty && name.allSatisfy(isOfName) ? name : nil
  }

  /// What is encoded may be a separator: then the name is none.
  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "."), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
