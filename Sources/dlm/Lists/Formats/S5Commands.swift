import DownloadModel

/// The input of `s5cmd run`: one command a line. Only commands that copy one public S3 object to this machine are used.
struct S5Commands: LineRule {
  let said = "commands of s5cmd"
  private(set) var passedOver: Set<String> = []

  mutating func take(_ text: String, base: Address?) -> [ListLine] {
    // Every other part is in quotes.
    let mark = text.first { "\"'".contains($0) } ?? "\""
    let words = text.split(separator: mark, omittingEmptySubsequences: false).enumerated()
      .flatMap { $0.isMultiple(of: 2) ? $1.split(whereSeparator: \.isWhitespace) : [$1] }
    guard let command = words.first, command.first != "#" else { return [] }
    guard command == "cp", let source = words.dropLast().last, let target = words.last, source.hasPrefix("s3://"),
      !target.hasPrefix("s3://")
    else {
      if passedOver.count < 100 { passedOver.insert(ListLine.shown(String(command))) }
      return []
    }
    let parts = source.dropFirst(5).split(separator: "/", maxSplits: 1)
    guard parts.count == 2, !source.contains(where: { "*?[".contains($0) }) else {
      return [.bad(.row("dlm lists no buckets: name each object"), text: ListLine.shown(String(source)))]
    }
    // A certificate of S3 covers one label only.
    let place = parts[0].contains(".") ? "s3.amazonaws.com/\(parts[0])" : "\(parts[0]).s3.amazonaws.com"
    let folder = target == "." ? "" : target.hasPrefix("./") ? target.dropFirst(2) : target
    let name = folder.isEmpty || folder.last == "/" ? parts[1].split(separator: "/").last ?? "" : ""
    let key = PercentEncoding.encode(parts[1], keeping: "/")
    return [ListLine("https://\(place)/\(key)", path: String(folder + name), LineOptions(), base: nil)]
  }
}
