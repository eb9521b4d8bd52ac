import FoundationEssentials
import SystemPackage

/// A small picture of the image in a question, for terminals that decode images themselves.
enum PicturePreview {
  enum Way: Equatable {
    /// kitty's graphics protocol (`f=100`: PNG).
    case kitty
    /// iTerm2's inline images (OSC 1337): PNG, JPEG, GIF.
    case iTerm
  }

  static let rows = 8
  /// A smaller window has no room for it.
  static let leastRows = 24
  /// Longer files would delay the terminal.
  static let mostBytes = 8 << 20
  /// The longest side; kitty's limit.
  private static let mostPixels = 10_000
  /// The most base64 characters in one of kitty's sequences.
  private static let chunk = 4096

  /// According to the terminal's environment; tmux and screen alter such sequences.
  static func way(_ environment: [String: String]) -> Way? {
    func has(_ name: String) -> Bool { environment[name]?.isEmpty == false }
    let term = environment["TERM"] ?? ""
    if has("TMUX") || has("STY") || term.hasPrefix("screen") || term.hasPrefix("tmux") || term == "dumb" { return nil }
    switch environment["TERM_PROGRAM"]?.lowercased() {
    case "iterm.app", "wezterm": return .iTerm
    case "ghostty": return .kitty
    default: break
    }
    if term == "xterm-kitty" || has("KITTY_WINDOW_ID") { return .kitty }
    return environment["LC_TERMINAL"] == "iTerm2" ? .iTerm : nil
  }

  /// - Parameter bytes: the whole file; the terminal scales it down.
  /// - Returns: a text that shows it and leaves the cursor behind it; `nil` for a file that the terminal cannot show.
  static func text(_ bytes: [UInt8], _ way: Way) -> String? {
    guard bytes.count <= mostBytes, let header = Self.header(bytes), 1...mostPixels ~= header.width,
      1...mostPixels ~= header.height, header.format == .png || way == .iTerm
    else { return nil }
    let data = Data(bytes).base64EncodedString()
    switch way {
    case .iTerm:
      return "\u{1B}]1337;File=inline=1;height=\(rows);preserveAspectRatio=1;size=\(bytes.count):\(data)\u{07}"
    case .kitty:
      var text = ""
      var rest = data.utf8[...]
      repeat {
        let part = rest.prefix(chunk)
        rest = rest.dropFirst(chunk)
        // q=2: the terminal does not answer, because an answer would be read as keys.
        let start = text.isEmpty ? "a=T,f=100,r=\(rows),q=2," : ""
        text += "\u{1B}_G\(start)m=\(rest.isEmpty ? 0 : 1);\(String(part) ?? "")\u{1B}\\"
      } while !rest.isEmpty
      return text
    }
  }

  enum Format: String { case png = "PNG", jpeg = "JPEG", gif = "GIF" }

  /// Format and size from the first bytes of an image (RFC 2083 §3, GIF89a §18, ITU T.81 B.2.2).
  static func header(_ bytes: [UInt8]) -> (format: Format, width: Int, height: Int)? {
    func big(_ place: Int, _ count: Int) -> Int { bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) } }
    if bytes.count >= 24, bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      return (.png, big(16, 4), big(20, 4))
    }
    // No frame is larger than the screen.
    if bytes.count > 13, bytes.starts(with: "GIF8".utf8) {
      return (.gif, Int(bytes[6]) | Int(bytes[7]) << 8, Int(bytes[8]) | Int(bytes[9]) << 8)
    }
    var index = bytes.starts(with: [0xFF, 0xD8]) ? 2 : bytes.count
    while index + 8 < bytes.count, bytes[index] == 0xFF {
      let marker = bytes[index + 1]
      if 0xC0...0xCF ~= marker, ![0xC4, 0xC8, 0xCC].contains(marker) {
        return (.jpeg, big(index + 7, 2), big(index + 5, 2))
      }
      index += marker == 0xFF ? 1 : 2 + big(index + 2, 2)
    }
    return nil
  }

  /// - Returns: for a long file, more bytes than can be shown.
  static func read(_ path: String) -> [UInt8]? {
    FileDescriptor.bytes(of: FilePath(path), upTo: mostBytes, .noFollow)
  }
}
