import Foundation

/// One text in the content codings of RFC 9110 §8.4.1, made by other programs than those that take them off.
package enum CodedSample {
  package static let plain = Array(
    String(repeating: "All of it is here, and nothing else.\n", count: 3000).utf8)

  package static let gzip = bytes(
    """
    H4sIAAAAAAAC/+3K0QmAIBQAwP+meANEOzhKkKUgCun+tEAj3H1fai3GHXVFnVHym/c4+xV9rFL7E7nNfGxJkiRJkiRJkiRJkiRJ
    kiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJ
    kiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJ
    kiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJ
    kiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJ
    kiRJkiRJkiRJkv7TB+xDsHqYsQEA
    """)
  package static let zlib = bytes(
    """
    eNrtytEJgCAUAMD/pngDRDs4SpClIArp/rRAI9x9X2otxh11RZ1R8pv3OPsVfaxS+xO5zXxsSZIkSZIkSZIkSZIkSZIkSZIkSZIk
    SZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIk
    SZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIk
    SZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIk
    SZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIkSZIk
    SZL+0wdeQyTw
    """)
  /// `deflate` as some servers send it: without zlib's frame.
  package static let bareDeflate = bytes(
    """
    7crRCYAgFADA/6Z4A0Q7OEqQpSAK6f60QCPcfV9qLcYddUWdUfKb9zj7FX2sUvsTuc18bEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmS
    JEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmS
    JEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmS
    JEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmS
    JEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmSJEmS
    /tMH
    """)
  package static let brotli = bytes("W5exgd84OVauh71SCIJyW6pHH4td8MXBo+Csim4rGvjBNndRn2q2noJx5oZaUgPkVgI=")
  package static let zstd = bytes("KLUv/QRofQEAVAJBbGwgb2YgaXQgaXMgaGVyZSwgYW5kIG5vdGhpbmcgZWxzZS4KAQCFi0W5egLbYfeE")
  package static let xz = bytes(
    """
    /Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4bGXAHpdACCbLEBvMwePs+tcpA53wUPLB7DrBRZxzmZIp7wh79u2kRydAHCJ+OM/LPSYdaN8
    R918mxdMfTNVxnxZNnZmFRHBlxWojkkvF0TSniAQDShiobaxnFh+D7Ksr/ZqiL2tiLbmipdsR/ajeeGaxf3MZLGEieIcx8eEeAIAAAAA
    UzwzQuEK8JMAAZYBmOMGAAcIALCxxGf7AgAAAAAEWVo=
    """)
  /// 64 MiB of nothing, in gzip twice: 269 bytes.
  package static let bomb = bytes(
    """
    H4sIAAAAAAAC/+3cr05CcRTA8QteN4abQjAR5BGMFOafQCZAZj6A0SybI1l8CbObm5uVxhuozc6f4JyJceXex/idzyedfOLZ2ffs
    sZGV6sVqXqvth+nT7mXTaGYAAABA4qZfDwflMSDrFh+D4RgAAABI3c3JcV4dBbaTzpV1AAAAQPJm/V6r+hD4ub/NrQMAAACSd/r3
    fVndAhbFW3tkHwAAAJC8T8EAAAAACEUwAAAAAGIRDAAAAIBYBAMAAAAgGMEAAAAAiEUwAAAAAGIRDAAAAIBYBAMAAAAgGMEAAAAA
    iEUwAAAAAGJ57ve65WNA67e4u7g+zAAAAIjk/Wh9vnzdD/k/dTcIweL+AAA=
    """)

  private static func bytes(_ base64: String) -> [UInt8] {
    Array(Data(base64Encoded: base64, options: .ignoreUnknownCharacters) ?? Data())
  }
}
