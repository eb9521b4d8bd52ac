import DownloadModel
import TestSupport
import Testing

@testable import FileReceiving

/// A name was once split, compared and trimmed by `Character`, of which `/` and a combining mark make one:
/// then `/` was none. `http://h/..%2F%CC%81pwned` wrote beside the output folder, `.%CC%81bashrc` stayed
/// hidden, and `%D8%80.part.json` passed for a name.
@Suite("Names are bytes (HTTP rules 21, 22 and 44)")
struct NameBytesTests {
  private static let marks = ["/", "\\", ".", "/.", "..", "/..", ".part", ".part.json", ".part.json.new"]

  @Test func theScalarsAreAllThere() async throws {
    let joining = try await offThePool { NameRule.joining }
    // A combining accent, a joiner, a variation selector, a skin colour, a spacing mark, a prepended number
    // sign.
    for value: UInt32 in [0x301, 0x200D, 0xFE0F, 0x1F3FB, 0x903, 0x600] {
      #expect(joining.contains { $0.value == value }, "U+\(String(value, radix: 16))")
    }
    #expect(joining.count > 2000)
  }

  @Test(arguments: marks)
  func noScalarHidesWhatStandsBesideIt(mark: String) async throws {
    let failures = try await offThePool { try Self.failures(beside: mark) }
    #expect(failures.prefix(5) == [])
  }

  private static func failures(beside mark: String) throws -> [String] {
    var failures: [String] = []
    // Each scalar beside a slash and a dot, and every fifth of them, others for each mark, beside the rest.
    let turn = marks.firstIndex(of: mark) ?? 0
    for (index, scalar) in NameRule.joining.enumerated() where turn < 3 || (index + turn) % 5 == 0 {
      for text in [
        "a\(mark)\(scalar)b", "a\(scalar)\(mark)b", "a\(scalar)\(mark)\(scalar)b", "\(mark)\(scalar)b",
        "\(scalar)\(mark)b", "a\(mark)\(scalar)", "a\(scalar)\(mark)", "a\(scalar)\(mark)\(scalar)",
        "..\(mark)\(scalar)", "\(scalar)..\(mark)",
      ] {
        failures += try complaints(text)
      }
    }
    return failures
  }

  private static func complaints(_ text: String) throws -> [String] {
    let encoded = NameRule.percentEncoded(text)
    let byAddress = FileNaming.name(of: try Address("http://h/\(encoded)"))
    // Nothing of it stands in the address as a dot that the user can see.
    let first = NameRule.complaint(byAddress, mayHide: false).map {
      "\(encoded): \(byAddress.debugDescription) \($0)"
    }
    let byServer = FileNaming.name(contentDisposition: "attachment; filename*=UTF-8''\(encoded)")
    let second = byServer.flatMap { name in
      NameRule.complaint(name, mayHide: false).map {
        "\(encoded), by the server: \(name.debugDescription) \($0)"
      }
    }
    return [first, second].compactMap(\.self)
  }

  @Test(arguments: [
    ("http://h/..%2F%CC%81pwned", "\u{301}pwned"),
    ("http://h/%2F%CC%81root", "\u{301}root"),
    ("http://h/..%2F%E2%80%8Dpwned", "\u{200D}pwned"),
    ("http://h/..%D8%80%2Fpwned", "pwned"),
    ("http://h/..%5C%CC%81pwned", "\u{301}pwned"),
    ("http://h/%D8%80.part.json", "\u{600}.part.json_"),
    ("http://h/x.part", "x.part_"),
    ("http://h/x.Part.json%CC%81", "x.Part.json\u{301}_"),
    ("http://h/x.pa%E2%80%8Brt", "x.pa\u{200B}rt_"),
    ("http://h/x.part.j%C5%BFon", "x.part.j\u{17F}on_"),
    ("http://h/x.part.", "x.part._"),
    ("http://h/.part", ".part_"),
    // What the user can see in the address, and what hides in it.
    ("http://h/.bashrc", ".bashrc"), ("http://h/.%CC%81bashrc", ".\u{301}bashrc"),
    ("http://h/%2Ebashrc", "_bashrc"), ("http://h/a%2F.bashrc", "_bashrc"),
    ("http://h/%20.bashrc", "_bashrc"),
    ("http://h/%2E.part", "_.part_"),
  ])
  func fromAddress(text: String, expected: String) throws {
    let name = FileNaming.name(of: try Address(text))
    #expect(Array(name.utf8) == Array(expected.utf8), "\(name.debugDescription)")
  }

  @Test(arguments: [
    ("attachment; filename*=UTF-8''sub%2F%CC%81x", "\u{301}x"),
    ("attachment; filename=\".\u{301}bashrc\"", "_\u{301}bashrc"),
    ("attachment; filename*=UTF-8''.%CC%81bashrc", "_\u{301}bashrc"),
    ("attachment; filename*=UTF-8''%20%CC%81.x", "\u{301}.x"),
    ("attachment; filename*=UTF-8''..part", "_.part_"),
    ("attachment; filename=\"x.part\"", "x.part_"),
  ])
  func fromAServer(field: String, expected: String) throws {
    let name = try #require(FileNaming.name(contentDisposition: field))
    #expect(Array(name.utf8) == Array(expected.utf8), "\(name.debugDescription)")
  }

  @Test(arguments: [
    "a/\u{301}b", "\u{600}/b", "/\u{200D}", "x\u{600}.part.json", "x.part.json\u{301}", "x.PART.json",
  ])
  func noneThatTheUserMayChoose(name: String) { #expect(!FileNaming.isUsable(name)) }

  /// A name that is as long as may be, and needs a letter more to be none of dlm's own.
  @Test func theLimitHoldsForWhatIsAppended() throws {
    for ending in [".part", ".part.json", ".part.json.new"] {
      let text = String(repeating: "a", count: 230 - ending.utf8.count) + ending
      #expect(try Self.complaints(text) == [])
    }
  }
}

@Suite("Thirty thousand names that someone made up")
struct RandomNamesTests {
  private static let pieces: [String] =
    [
      "a", "b", "Z", "9", " ", ".", "..", "/", "\\", "/", ".", "..", "%", "%2F", "%00", "\"", "'", ";", "=",
      "-rf", "~",
    ]
    + [
      ".part", ".json", ".part.json", ".part.json.new", ".PART", ".Json", ".new", ".j\u{17F}on", ".tar.gz",
      ".txt",
    ]
    + [
      "\u{301}", "\u{200D}", "\u{FE0F}", "\u{1F3FB}", "\u{903}", "\u{600}", "\u{110BD}", "\u{200B}", "\u{AD}",
      "\u{34F}",
    ]
    + [
      "\u{202E}", "\u{2066}", "\u{200E}", "\u{61C}", "\u{FEFF}", "\u{2028}", "\0", "\u{1}", "\n", "\r", "\t",
      "\u{1B}[2J",
    ]
    + [
      "\u{7F}", "\u{85}", "\u{9B}", "日本", "é", "e\u{301}", "👨‍👩‍👧", "\u{E0041}", "\u{FFFE}", "ﬀ", "İ", "．", "／",
      "∕",
    ]
    + [
      String(repeating: "n", count: 200), String(repeating: "日", count: 80),
      String(repeating: "\u{301}", count: 150),
    ]

  private static func text(_ random: inout SplitMix64) -> String {
    let joining = NameRule.joining
    return (0..<Int.random(in: 1...7, using: &random)).map { _ in
      Int.random(in: 0..<8, using: &random) == 0
        ? String(joining[Int.random(in: 0..<joining.count, using: &random)])
        : pieces[Int.random(in: 0..<pieces.count, using: &random)]
    }.joined()
  }

  /// Encoded here and there, as addresses are, or everywhere; sometimes twice.
  private static func encoded(_ text: String, _ random: inout SplitMix64) -> String {
    let share = [0, 2, 5, 10][Int.random(in: 0..<4, using: &random)]
    return text.utf8.map { byte in
      let isPlain = byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#") && byte != UInt8(ascii: "%")
      if isPlain, Int.random(in: 0..<10, using: &random) >= share { return plain[Int(byte)] }
      return Int.random(in: 0..<50, using: &random) == 0 ? "%25" + codes[Int(byte)].dropFirst() : codes[Int(byte)]
    }.joined()
  }

  /// Made once, since not optimized code takes seconds to make them for each byte.
  private static let plain = (0...UInt8.max).map { String(Unicode.Scalar($0)) }
  private static let codes = (0...UInt8.max).map {
    "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
  }
  /// Of a quoted or extended value: what would only end it is encoded.
  private static let octets = zip(plain, codes).map { "\"'();,/:<=>?@[\\]{} *".contains($0) ? $1 : $0 }

  @Test func addresses() async throws {
    let failures = try await offThePool { try Self.failuresOfAddresses() }
    #expect(failures.prefix(5) == [])
  }

  private static func failuresOfAddresses() throws -> [String] {
    var random = SplitMix64(seed: 20_261_122)
    var failures: [String] = []
    for _ in 0..<30_000 {
      let text = "http://h/" + Self.encoded(Self.text(&random), &random)
      let address = try Address(text)
      // A dot or dash that the user can see in the address is the user's.
      let mayHide = address.lastPathSegment.utf8.first.map { [0x2D, 0x2E].contains($0) } == true
      let name = FileNaming.name(of: address)
      if let complaint = NameRule.complaint(name, mayHide: mayHide) {
        failures.append("\(text): \(name.debugDescription): \(complaint)")
      }
    }
    return failures
  }

  @Test func contentDispositions() async throws {
    let (failures, understood) = try await offThePool { Self.failuresOfHeaders() }
    #expect(failures.prefix(5) == [])
    #expect(understood > 21_000, "the fields are to be read, not refused")
  }

  private static func failuresOfHeaders() -> (failures: [String], understood: Int) {
    var random = SplitMix64(seed: 22_112_026)
    var failures: [String] = []
    var understood = 0
    for _ in 0..<30_000 {
      let text = Self.text(&random)
      let octets = Self.encoded(text, &random).utf8.map { Self.octets[Int($0)] }.joined()
      let field =
        switch Int.random(in: 0..<4, using: &random) {
        case 0: "attachment; filename=\"\(text)\""
        case 1: "attachment; filename=\"\(Self.escaped(text))\""
        case 2: "attachment; filename=plain; filename*=UTF-8''\(octets)"
        default: "inline; filename*=iso-8859-1'en'\(octets)"
        }
      guard let name = FileNaming.name(contentDisposition: field) else { continue }
      understood += 1
      if let complaint = NameRule.complaint(name, mayHide: false) {
        failures.append("\(field.debugDescription): \(name.debugDescription): \(complaint)")
      }
    }
    return (failures, understood)
  }

  private static func escaped(_ text: String) -> String {
    var escaped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { escaped.append("\\") }
      escaped.append(scalar)
    }
    return String(escaped)
  }
}
