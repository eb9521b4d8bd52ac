import DownloadModel
import FoundationEssentials

struct PageRequest: Sendable {
  /// Of the request line (RFC 9112 §3.2).
  struct Target: Sendable {
    let path: String
    /// Decoded.
    let query: [String: String]

    init(_ text: String) {
      let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      path = parts.first.map(String.init) ?? ""
      let pairs = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { pair in
        let field = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(field[0]), field.count > 1 ? Self.decoded(field[1]) : "")
      }
      query = Dictionary(pairs) { first, _ in first }
    }

    private static func decoded(_ text: Substring) -> String {
      var bytes: [UInt8] = []
      var rest = Array(text.utf8)[...]
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.count > 1, let value = UInt8(String(utf8: rest.prefix(2)), radix: 16) {
          bytes.append(value)
          rest = rest.dropFirst(2)
        } else {
          bytes.append(byte)
        }
      }
      return String(utf8: bytes)
    }
  }

  var method = "GET"
  var target: Target
  var body: [UInt8] = []

  func run() throws(Refused) -> Int {
    guard let number = target.query["run"].flatMap({ Int($0) }) else { throw Refused("run=NUMBER is missing") }
    return number
  }

  /// The body of the page's own requests.
  struct Order: Decodable {
    var run: Int?
    /// What to do with a run, as at its door.
    var verb: String?
    /// URLs or the text of a list.
    var text: String?
    /// The name of the list, whose ending tells its format.
    var name: String?
    /// Below the folder of the page.
    var folder: String?
    /// Of a picture, below the folder of its run.
    var picture: String?
    var files: [Int]?
    var limits: [String]?
    var jobs: Int?

    private enum CodingKeys: String, CodingKey {
      case run, text, name, folder, picture, files, limits, jobs
      case verb = "do"
    }
  }

  func order() throws(Refused) -> Order {
    guard method == "POST" else { throw Refused("only POST", status: 405) }
    do { return try JSONDecoder().decode(Order.self, from: Data(body)) } catch { throw Refused("not a JSON object") }
  }
}
