import ArgumentParser
import DownloadModel

/// The argument of `-H`: a header line, or `@FILE` with some. Any text is accepted, because the option parser would
/// echo a rejected one, which may be a password.
struct HeaderArgument: ExpressibleByArgument {
  let text: String
  var defaultValueDescription: String { text }

  init(argument: String) { text = argument }

  var isFile: Bool { text.unicodeScalars.first == "@" }

  var name: String {
    // By scalars, because a combining mark after the colon forms one `Character` with it.
    String(text.unicodeScalars.prefix { $0 != ":" && $0 != ";" }.filter { $0 != " " && $0 != "\t" })
  }

  /// - Throws: `ValidationError` that names the place of a wrong line, never its value.
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

  /// Why the user may not send it. Names only the field, because its value may be a secret.
  var refusal: String? { ReservedMatter(field: name.lowercased()).map { UsageMessages.header(name, meddlesWith: $0) } }

  /// RFC 9110 §5.5: no control character in a field's value except the tab.
  static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 && scalar != "\t" || scalar.value == 0x7f
  }

  private static func text(ofFile path: String) throws -> String {
    // More than any server accepts. A pipe may be one that the caller has opened: `-H @<(…)`.
    let bytes = try UserFile.usable(path, upTo: 256 * 1024, orPipe: true) {
      UsageMessages.unreadable("--header", "@\(path)", $0)
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ValidationError(UsageMessages.unreadable("--header", "@\(path)", "it is not UTF-8"))
    }
    return text
  }
}
