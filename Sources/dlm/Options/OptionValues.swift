public import ArgumentParser
public import CurlTransport
public import DownloadCaching
public import DownloadModel
import SystemPackage
public import TerminalProgress

// What may stand behind an option, in the environment or in a settings file: one parser for all three.

extension DownloadMode: ExpressibleByArgument {
  public init?(argument: String) {
    switch argument {
    case "task-group": self = .parallel
    default: self.init(rawValue: argument)
    }
  }
  public static var allValueStrings: [String] { allCases.map(\.rawValue) }
}

extension ConflictPolicy: ExpressibleByArgument {}
extension Proof: ExpressibleByArgument {}

extension ContentDigest: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension ProgressStyle: ExpressibleByArgument {}

extension TLSOptions.Version: ExpressibleByArgument {
  public init?(argument: String) {
    switch argument {
    case "1.2": self = .tls12
    case "1.3": self = .tls13
    default: return nil
    }
  }
  public static var allValueStrings: [String] { ["1.2", "1.3"] }
  var text: String { self == .tls12 ? "1.2" : "1.3" }
}

// Their descriptions are what the same parser takes again.

/// `N` or `auto`.
enum Parallelism: ExpressibleByArgument, Equatable, CustomStringConvertible {
  case auto
  case exactly(Int)

  var description: String {
    if case .exactly(let number) = self { "\(number)" } else { "auto" }
  }

  init?(argument: String) {
    if argument == "auto" {
      self = .auto
    } else {
      guard let number = Int(argument), number >= 1 else { return nil }
      self = .exactly(number)
    }
  }
}

/// A time in seconds, fractions allowed.
struct Seconds: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let duration: Duration
  var description: String { "\(duration / .seconds(1))" }

  init?(argument: String) {
    guard let number = Double(argument), number > 0, number < 1e9 else { return nil }
    duration = .seconds(number)
  }
}

/// A number from zero.
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
    guard let number = Double(unit == nil ? argument[...] : argument.dropLast()), number.isFinite else {
      return nil
    }
    let rate = number * (unit ?? 1)
    guard rate >= 1, rate < 1e15 else { return nil }
    bytesPerSecond = Int64(rate)
  }
}

/// `yes` or `no`, for a flag in the environment or a settings file.
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

/// `Name: value`: one line of a request's head.
struct HeaderLine: ExpressibleByArgument, Equatable {
  let text: String

  init?(argument: String) {
    guard let colon = argument.firstIndex(where: { $0 == ":" || $0 == ";" }), colon != argument.startIndex,
      !argument.unicodeScalars.contains(where: Self.isForbidden)
    else { return nil }
    text = argument
  }

  /// Why a line is not the user's to send; nil if it is. Names the field only: its value may be a secret.
  static func refusal(of line: String) -> String? {
    // By bytes: a mark behind the colon makes one `Character` with it.
    let name = String(
      decoding: line.utf8.prefix { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ";") }
        .filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
    let said = "--header \(name): "
    return switch name.lowercased() {
    case "proxy-authorization":
      said
        + "it would go to the server, not to the proxy; give the proxy's login in its address: --proxy, user and password before the host"
    case "range", "if-range":
      said + "dlm asks for parts itself, and keeps a part as a part; fetch the whole file without it"
    case "if-none-match", "if-modified-since", "if-match", "if-unmodified-since":
      said + "dlm asks itself whether a file has changed; to fetch it in any case give --refresh"
    case "accept-encoding":
      said
        + "files are kept as the server has them, so that they can be compared and gone on with; leave it out"
    case "content-length", "transfer-encoding", "expect":
      said + "a download sends no body; leave it out"
    default: nil
    }
  }

  /// RFC 9110 §5.5: no control character in a field's value but the tab.
  static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 && scalar != "\t" || scalar.value == 0x7f
  }
}

/// What was given with `-H`: a header line, or `@FILE` with some.
///
/// The option parser takes any text, since it would echo one that it refuses, and this may be a password.
struct HeaderArgument: ExpressibleByArgument, Equatable {
  let text: String

  init(argument: String) { text = argument }

  /// The header lines that all of them come to.
  /// - Throws: `ValidationError` that names the place of a line that is none, never its value.
  static func lines(of arguments: [HeaderArgument]) throws -> [String] {
    try arguments.flatMap { argument -> [String] in
      guard argument.text.first == "@" else {
        return [try line(argument.text[...], place: "--header (or -H)")]
      }
      let path = String(argument.text.dropFirst())
      // As curl has it: a line each, the rest of the world's line ends too; blank ones say nothing.
      return try HeaderFile.text(of: path).split(
        omittingEmptySubsequences: false, whereSeparator: \.isNewline
      ).enumerated().compactMap { number, text in
        text.allSatisfy(\.isWhitespace) ? nil : try line(text, place: "\(path), line \(number + 1)")
      }
    }
  }

  private static func line(_ text: Substring, place: String) throws -> String {
    guard let line = HeaderLine(argument: String(text)) else {
      throw ValidationError(
        "\(place) holds no header line: it looks like Name: value, on one line and without control characters."
      )
    }
    return line.text
  }
}

/// `-H @FILE`: header lines from a file, so that secrets stay off the command line, which every user can see (ps).
private enum HeaderFile {
  /// More than any request's head may be (8 to 64 KiB is common).
  static let longest = 256 * 1024

  /// - Throws: `ValidationError` with path and cause.
  static func text(of path: String) throws -> String {
    func refusal(_ cause: String) -> ValidationError {
      ValidationError("--header @\(path) cannot be read: \(cause).")
    }
    do {
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec])
      let bytes = try file.closeAfter {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= longest {
          let count = try block.withUnsafeMutableBytes { try file.read(into: $0, retryOnInterrupt: true) }
          if count == 0 { break }
          bytes += block[..<count]
        }
        return bytes
      }
      guard bytes.count <= longest else { throw refusal("it is longer than any request's head") }
      guard let text = String(validating: bytes, as: UTF8.self) else { throw refusal("it is not UTF-8") }
      return text
    } catch let error as Errno {
      throw refusal(error.description)
    }
  }
}
