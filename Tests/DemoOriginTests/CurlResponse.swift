import Foundation

/// A response as `curl --include` prints it.
struct CurlResponse: Sendable {
  let status: Int
  /// Names in lower case.
  let fields: [String: String]
  let body: [UInt8]

  init(_ data: Data) throws {
    guard let end = data.range(of: Data("\r\n\r\n".utf8)) else { throw NoHead() }
    let lines = String(decoding: data[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { throw NoHead() }
    self.status = status
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let sides = line.split(separator: ":", maxSplits: 1)
      guard sides.count == 2 else { throw NoHead() }
      fields[sides[0].lowercased()] = sides[1].trimmingCharacters(in: .whitespaces)
    }
    self.fields = fields
    body = Array(data[end.upperBound...])
  }

  struct NoHead: Error {}
}
