import DownloadModel

struct PageRequest: Sendable {
  /// Of the request line (RFC 9112 §3.2).
  struct Target: Sendable {
    let path: String
    /// Decoded.
    let query: [String: String]

    init(_ text: String) {
      let (path, query) = text.halves(at: "?")
      self.path = String(path)
      let pairs = (query ?? "").split(separator: "&").map { pair in
        let (name, value) = pair.halves(at: "=")
        return (String(name), String(utf8: PercentEncoding.decode(value ?? "")))
      }
      self.query = Dictionary(pairs) { first, _ in first }
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
    guard let order = Order(json: body) else { throw Refused("not a JSON object, or a field of another type") }
    return order
  }
}
