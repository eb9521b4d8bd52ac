import DownloadModel
import FileReceiving

/// What stands behind an address, each as `name=value` after a tab, as an address may hold blanks.
struct LineOptions: Equatable {
  /// Nil for what `--first` says.
  var isFirst: Bool?
  /// In bytes; a file of another length fails.
  var size: Int64?
  /// In bytes, for `--order`, the plan and the total alone: a size with a unit, or a feed's, which is often wrong.
  var estimate: Int64?
  /// Who named it, in a list of what failed.
  var provenance: Provenance?
  var name: String?
  /// Below `directory`, or the run's own.
  var folder: String?
  /// The `--directory` of the run that wrote the line. If this run has one, that counts instead.
  var directory: String?
  var checksum: ContentDigest?
  var expectedTypes: ExpectedTypes?
  var headerLines: [String] = []
  var mirrors: [Address] = []
  var pieces: PieceHashes?

  static let help =
    "first=yes, size=12M, out=NAME, dir=FOLDER, sha256=HEX (and other sums), expect=TYPE, header=LINE, mirror=URL"

  struct Unknown: Error, Equatable { let text: String }

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
      // Also above those of a name that stands before it.
      folder = name == nil ? value : folder.map { "\(value)/\($0)" } ?? value
      return true
    case "directory":
      directory = value
      return FileNaming.isUsablePath(value)
    case "expect":
      expectedTypes = ExpectedTypes(argument: value)
      return expectedTypes != nil
    case "header":
      // A list names no file that is read.
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
      // Of several, the strongest counts.
      if digest.algorithm.length >= checksum?.algorithm.length ?? 0 { checksum = digest }
      return true
    }
  }

  /// The first of its header lines, by name, that a third party's list may not send (HTTP rule 49): any to another
  /// server than the list's own, and there those that could reach another site or carry a login.
  func forbiddenHeader(from provenance: Provenance) -> String? {
    guard provenance != .user else { return nil }
    let names = headerLines.lazy.map { HeaderLine($0).name }
    return names.first { name in
      provenance != .home || ["host", "authorization", "cookie"].contains(name)
        || ["proxy-", "metadata-"].contains(where: name.hasPrefix)
    }
  }

  /// Mirrors that count for an address. One over http would undo the address's https, unless digests prove the file
  /// (HTTP rule 48).
  func usableMirrors(of address: Address, isProvable: Bool) -> [Address] {
    let isSafe = address.scheme == .http || isProvable || checksum?.algorithm.findsForgery == true || pieces != nil
    return isSafe ? mirrors : mirrors.filter { $0.scheme == .https }
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

  /// As `init(_:)` reads it. Header lines are left out, since they may be secrets.
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
  init(_ wishes: DownloadRequest.Wishes) {
    self.init(
      size: wishes.size, provenance: wishes.provenance == .user ? nil : wishes.provenance, name: wishes.outputName,
      folder: wishes.folder, checksum: wishes.checksum, expectedTypes: wishes.expectedTypes, mirrors: wishes.mirrors)
  }

  /// - Parameter text: words, each after a tab; values may hold `%09` for a tab, `%25` for a percent sign.
  init(_ text: String) throws(Unknown) {
    // By scalars: a combining mark after `=` forms one `Character` with it.
    for word in text.unicodeScalars.split(separator: "\t").map(Substring.init) {
      let option = word.unicodeScalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map(Substring.init)
      guard option.count == 2 else { throw Unknown(text: String(word)) }
      let value = PercentEncoding.decode(option[1]).flatMap { String(validating: $0, as: UTF8.self) } ?? "\(option[1])"
      guard set(option[0], value) else {
        throw Unknown(text: Self.shown(option[0], value))
      }
    }
  }

  /// - Returns: `name=value`, without what may be a secret.
  static func shown(_ option: some StringProtocol, _ value: String) -> String {
    if option != "header" { return ListLine.shown("\(option)=\(value)") }
    return "header=" + (value.unicodeScalars.contains(":") ? HeaderArgument(argument: value).name + ": " : "") + "…"
  }
}
