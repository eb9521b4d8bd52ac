public import ArgumentParser
public import DownloadCaching
public import DownloadModel
public import FileReceiving
public import TerminalProgress

extension ArgumentHelp {
  static func value(_ name: String, _ abstract: String) -> Self { Self(abstract, valueName: name) }
}

/// A value that is one of a few words. The parser's own rule gives the same names, but has the runtime search all
/// conformances at each start.
public protocol Choice: ExpressibleByArgument, CaseIterable, RawRepresentable where RawValue == String {}

extension Choice {
  public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
  public static var allValueDescriptions: [String: String] { [:] }
}

extension Proof: Choice {}
extension ProgressStyle: Choice {}
extension RequestOrder: Choice {}
extension ConflictPolicy: Choice {}
extension StoreKind: Choice {}

extension DownloadMode: Choice {
  public init?(argument: String) { self.init(rawValue: argument == "task-group" ? "parallel" : argument) }
}

enum CertificateType: String, Choice {
  case pem = "PEM"
  case p12 = "P12"

  init?(argument: String) { self.init(rawValue: argument.uppercased()) }
}

extension TLSOptions.Version: ExpressibleByArgument {
  public init?(argument: String) {
    guard Self.allValueStrings.contains(argument) else { return nil }
    self = argument == "1.2" ? .tls12 : .tls13
  }
  public static var allValueStrings: [String] { ["1.2", "1.3"] }
  public var defaultValueDescription: String { self == .tls12 ? "1.2" : "1.3" }
}

extension ContentDigest: ExpressibleByArgument { public init?(argument: String) { self.init(argument) } }

extension ExpectedTypes: ExpressibleByArgument {}

extension ThrottlingStatuses: ExpressibleByArgument { public init?(argument: String) { self.init(argument) } }

/// `N`, or nil for `auto`. As with the types below, the description is what `init(argument:)` takes.
struct Parallelism: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let number: Int?
  var description: String { number.map { "\($0)" } ?? "auto" }

  init?(argument: String) {
    number = Int(argument)
    guard argument == "auto" || number ?? 0 >= 1 else { return nil }
  }
}

/// `--jobs`: files at a time, or several such numbers to compare: `1,4,16`.
struct Jobs: ExpressibleByArgument, Equatable, CustomStringConvertible {
  /// At least one.
  let widths: [Parallelism]
  var description: String { widths.map(\.description).joined(separator: ",") }

  init?(argument: String) {
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
    widths = parts.compactMap { Parallelism(argument: String($0)) }
    if widths.count < parts.count { return nil }
  }
}

struct Seconds: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let duration: Duration
  var description: String { "\(duration / .seconds(1))" }

  init?(argument: String) {
    guard let number = Double(argument), number > 0, number < 1e9 else { return nil }
    duration = .seconds(number)
  }
}

struct Count: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let number: Int
  var description: String { "\(number)" }

  init?(argument: String) {
    guard let number = Int(argument), number >= 0 else { return nil }
    self.number = number
  }
}

/// Bytes a second: `500K`, `5M`, `1.5G`, as curl and wget take them (K is 1024).
struct ByteRate: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let bytesPerSecond: Int64
  var description: String { "\(bytesPerSecond)" }

  init?(argument: String) {
    let units: [Character: Double] = ["k": 1024, "m": 1_048_576, "g": 1_073_741_824]
    let unit = argument.last.flatMap { units[Character($0.lowercased())] }
    guard let number = Double(unit == nil ? argument[...] : argument.dropLast()), number.isFinite else { return nil }
    let rate = number * (unit ?? 1)
    guard rate >= 1, rate < 1e15 else { return nil }
    bytesPerSecond = Int64(rate)
  }
}

/// Written as a `ByteRate`, or `0`.
struct ByteCount: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let bytes: Int64
  var description: String { "\(bytes)" }

  init?(argument: String) {
    guard let bytes = argument == "0" ? 0 : ByteRate(argument: argument)?.bytesPerSecond else { return nil }
    self.bytes = bytes
  }
}

/// A span of time with its unit: `30d`, `12h`, `90m`, `45s`, `2w`.
struct TimeSpan: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let seconds: Int64
  var description: String { "\(seconds)s" }

  init?(argument: String) {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    guard let unit = argument.last.flatMap({ units[$0] }),
      let number = Int64(argument.dropLast()), number >= 0, number <= 1 << 32
    else { return nil }
    seconds = number * unit
  }
}

/// An address as the cache knows it: without what identifies a user.
struct CachedAddress: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let key: String
  var description: String { key }

  init?(argument: String) {
    guard let address = try? Address(argument) else { return nil }
    key = address.resource
  }
}

/// A flag in the environment or a settings file.
struct YesOrNo: ExpressibleByArgument, Equatable {
  let isOn: Bool

  init?(argument: String) {
    switch argument.lowercased() {
    case "1", "true", "yes", "on": isOn = true
    case "0", "false", "no", "off", "": isOn = false
    default: return nil
    }
  }
}

/// What was given with `-H`: a header line, or `@FILE` with some. Any text is taken, since the option parser would echo
/// one that is refused, and this may be a password.
struct HeaderArgument: ExpressibleByArgument, Equatable {
  let text: String
  var defaultValueDescription: String { text }

  init(argument: String) { text = argument }

  var isFile: Bool { text.utf8.first == UInt8(ascii: "@") }

  var name: String {
    // By bytes, because a combining mark after the colon forms one `Character` with it.
    String(
      decoding: text.utf8.prefix { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ";") }
        .filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
  }

  /// - Throws: `ValidationError` that names the place of a line that is none, never its value.
  static func lines(of arguments: [HeaderArgument]) throws -> [String] {
    try arguments.flatMap { argument -> [String] in
      guard argument.isFile else { return [try argument.line(from: "--header (or -H)")] }
      let path = String(argument.text.dropFirst())
      return try text(ofFile: path).split(omittingEmptySubsequences: false, whereSeparator: \.endsLine)
        .enumerated().filter { !$1.allSatisfy(\.isWhitespace) }
        .map { try HeaderArgument(argument: String($1)).line(from: "\(path), line \($0 + 1)") }
    }
  }

  func line(from place: String) throws -> String {
    guard let colon = text.firstIndex(where: { $0 == ":" || $0 == ";" }), colon != text.startIndex,
      !text.unicodeScalars.contains(where: Self.isForbidden)
    else {
      throw ValidationError(
        "\(place) is not a header line: write Name: value, on one line and without control characters.")
    }
    if let refusal { throw ValidationError(refusal) }
    return text
  }

  /// Why the user may not send it. Names the field only, because its value may be a secret.
  var refusal: String? { ReservedMatter(field: name.lowercased()).map { UsageMessages.header(name, meddlesWith: $0) } }

  /// RFC 9110 §5.5: no control character in a field's value but the tab.
  static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 && scalar != "\t" || scalar.value == 0x7f
  }

  private static func text(ofFile path: String) throws -> String {
    // More than any server takes. A pipe may be what the caller has opened: `-H @<(…)`.
    let bytes = try UserFile.usable(path, upTo: 256 * 1024, orPipe: true) {
      UsageMessages.unreadable("--header", "@\(path)", $0)
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ValidationError(UsageMessages.unreadable("--header", "@\(path)", "it is not UTF-8"))
    }
    return text
  }
}

extension UserFile {
  static func usable(
    _ path: String, upTo limit: Int, orPipe: Bool = false, _ message: (_ cause: String) -> String
  ) throws -> [UInt8] {
    do throws(Refusal) {
      return try bytes(path, upTo: limit, orPipe: orPipe)
    } catch { throw ValidationError(message(UsageMessages.cause(error))) }
  }
}
