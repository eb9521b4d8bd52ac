package import DownloadModel

extension ResponseHead {
  /// - Parameter block: header lines separated by LF or CRLF, without the status line.
  package init(status: Int, block: [UInt8]) {
    let behindEnds = block.indices.filter { block[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
    self.init(status: status, block: block, starts: ([0] + behindEnds).filter { $0 < block.count })
  }

  package init(status: Int, fields: KeyValuePairs<String, String>) {
    self.init(status: status, block: Array(fields.map { "\($0): \($1)\r\n" }.joined().utf8))
  }
}
