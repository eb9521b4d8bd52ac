import DownloadModel
import FileReceiving

/// The options after a URL, each as `name=value` after a tab, because a URL may contain blanks.
struct LineOptions: Equatable {
  /// `nil` to apply `--first`.
  var isFirst: Bool?
  /// In bytes; a file of another length fails.
  var size: Int64?
  /// In bytes, only for `--order`, the plan and the total: a size with a unit, or a feed's, which is often wrong.
  var estimate: Int64?
  /// Who chose the URL, in a list of failures.
  var provenance: Provenance?
  var name: String?
  /// Below `directory`, or the run's own folder.
  var folder: String?
  /// The `--directory` of the run that wrote the line. The present run's `--directory` has priority.
  var directory: String?
  var checksum: ContentDigest?
  var expectedTypes: ExpectedTypes?
  var headerLines: [String] = []
  var mirrors: [Address] = []
  var pieces: PieceHashes?

  static let help =
    "first=yes, size=12M, out=NAME, dir=FOLDER, sha256=HEX (and other sums), expect=TYPE, header=LINE, mirror=URL"

  /// - Returns: whether there is such an option, and it can have that value.
  mutating func set(_ option: some StringProtocol, _ value: String) -> Bool {
    switch option {
    case "first":
      isFirst = value.isEmpty ? nil : YesOrNo(argument: value)?.isOn
      return isFirst != nil
    case "size":
      size = Int64(value).flatMap { $0 < 0 ? nil : $0 }
      estimate = size == nil ? ByteCount(argument: value)?.bytes : nil
      return size != nil || estimate != nil
    case "by":
      provenance = Provenance(rawValue: value)
      return provenance != nil
    case "out": return setPath(value)
    case "dir":
      guard FileNaming.isUsablePath(value) else { return false }
      // Also above the folders of a name that precedes it.
      folder = name == nil ? value : folder.map { "\(value)/\($0)" } ?? value
      return true
    case "directory":
      directory = value
      return FileNaming.isUsablePath(value)
    case "expect":
      expectedTypes = ExpectedTypes(argument: value)
      return expectedTypes != nil
    case "header":
      // A list must not name a file to read.
      let header = HeaderArgument(argument: value)
      guard !header.isFile, let line = try? header.line(from: "header=") else { return false }
      headerLines.append(line)
      return true
    case "mirror":
      guard let mirror = try? Address(value) else { return false }
      mirrors.append(mirror)
      return true
    default:
      guard let digest = ContentDigest(option == "checksum" ? value : "\(option):\(value)") else { return false }
      // The strongest of several counts.
      if digest.algorithm.length >= checksum?.algorithm.length ?? 0 { checksum = digest }
      return true
    }
  }

  /// The name of the first header line that a third-party list may not send (HTTP rule 49): any to a server other than
  /// the list's own, and to that server those that could reach another site or carry a login.
  func forbiddenHeader(from provenance: Provenance) -> String? {
    guard provenance != .user else { return nil }
    let names = headerLines.lazy.map { HeaderLine($0).name }
    return names.first { name in
      provenance != .home || ["host", "authorization", "cookie"].contains(name)
        || ["proxy-", "metadata-"].contains(where: name.hasPrefix)
    }
  }

  /// Mirrors that may be used for a URL. An http mirror would undo the URL's https, unless digests prove the file
  /// (HTTP rule 48).
  func usableMirrors(of address: Address, isProvable: Bool) -> [Address] {
    let isSafe = !address.scheme.isEncrypted || isProvable || checksum?.algorithm.findsForgery == true || pieces != nil
    return isSafe ? mirrors : mirrors.filter(\.scheme.isEncrypted)
  }

  /// - Parameter path: a name, or one below folders.
  /// - Returns: whether it can be used.
  mutating func setPath(_ path: String) -> Bool {
    guard FileNaming.isUsablePath(path) else { return false }
    // By scalars: a combining mark after a slash forms one `Character` with it.
    guard let slash = path.unicodeScalars.lastIndex(of: "/") else {
      name = path
      return true
    }
    name = String(path[path.utf8.index(after: slash)...])
    folder = (folder.map { $0 + "/" } ?? "") + path[..<slash]
    return true
  }

  /// In the format of `init(_:)`. Header lines are omitted, because they may be secrets.
  var text: String {
    let words: [(String, String?)] = [
      ("first", isFirst.map { $0 ? "yes" : "no" }),
      ("size", size.map { "\($0)" } ?? estimate.map { "\(max(1, $0 >> 10))K" }), ("by", provenance?.rawValue),
      ("directory", directory), ("dir", folder), ("out", name), (checksum?.algorithm.rawValue ?? "", checksum?.hex),
      ("expect", expectedTypes?.description),
    ]
    let own = words.compactMap { name, value in value.map { "\t\(name)=\(Self.encoded($0))" } }
    return (own + mirrors.map { "\tmirror=\(Self.encoded($0.key))" }).joined()
  }

  private static func encoded(_ value: String) -> String {
    FileLists.escaped(value) { $0 < 0x20 || $0 == 0x25 || $0 == 0x7F ? "%\([$0].hexadecimal.uppercased())" : nil }
  }
}

extension LineOptions {
  init(_ wishes: DownloadRequest.Wishes?) {
    self.init(
      size: wishes?.size, provenance: wishes?.provenance == .user ? nil : wishes?.provenance,
      name: wishes?.outputName, folder: wishes?.folder, checksum: wishes?.checksum,
      expectedTypes: wishes?.expectedTypes, mirrors: wishes?.mirrors ?? [])
  }

  /// - Parameter text: words, each after a tab; values may contain `%09` for a tab, `%25` for a percent sign.
  init(_ text: String) throws(Rejection.Reason) {
    // By scalars: a combining mark after `=` forms one `Character` with it.
    for word in text.unicodeScalars.split(separator: "\t").map(Substring.init) {
      let option = word.unicodeScalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map(Substring.init)
      guard option.count == 2 else { throw .option(ListLine.shown(String(word))) }
      let value = String(validating: PercentEncoding.decode(option[1]), as: UTF8.self) ?? "\(option[1])"
      guard set(option[0], value) else { throw .option(ListLine.shown(Self.shown(option[0], value))) }
    }
  }

  /// - Returns: `name=value`, without possible secrets.
  static func shown(_ option: some StringProtocol, _ value: String) -> String {
    if option != "header" { return ListLine.shown("\(option)=\(value)") }
    return "header=" + (value.unicodeScalars.contains(":") ? HeaderArgument(argument: value).name + ": " : "") + "…"
  }
}
