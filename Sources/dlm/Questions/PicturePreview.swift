import FoundationEssentials
import Glibc
import SystemPackage

/// A small picture of the image that a question is about, for terminals that decode images themselves; Sixel takes
/// pixels, and dlm decodes none.
enum PicturePreview {
  enum Way: Sendable, Equatable {
    /// kitty's graphics protocol (`f=100`: PNG).
    case kitty
    /// iTerm2's inline images (OSC 1337): PNG, JPEG, GIF.
    case iTerm
  }

  static let rows = 8
  /// A smaller window has no room for it.
  static let leastRows = 24
  /// Longer files would hold up the terminal.
  static let mostBytes = 512 * 1024
  private static let mostPixels = 8192
  /// Base64 in one of kitty's sequences, at most.
  private static let chunk = 4096

  /// By what the terminal says of itself; tmux and screen change what is sent.
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

  /// - Returns: what shows it and leaves the cursor behind it; nil for a file that the terminal cannot show.
  static func text(_ bytes: [UInt8], _ way: Way) -> String? {
    let isPNG = isPNG(bytes)
    guard bytes.count <= mostBytes, isPNG || way == .iTerm && (isJPEG(bytes) || isGIF(bytes)) else { return nil }
    let data = Data(bytes).base64EncodedString()
    switch way {
    case .iTerm:
      return "\u{1B}]1337;File=inline=1;height=\(rows);preserveAspectRatio=1;size=\(bytes.count):\(data)\u{07}"
    case .kitty:
      var (text, rest) = ("", data.utf8[...])
      repeat {
        let part = rest.prefix(chunk)
        rest = rest.dropFirst(chunk)
        // q=2: the terminal does not answer, since that would be taken for keys.
        let start = text.isEmpty ? "a=T,f=100,r=\(rows),q=2," : ""
        text += "\u{1B}_G\(start)m=\(rest.isEmpty ? 0 : 1);\(String(part) ?? "")\u{1B}\\"
      } while !rest.isEmpty
      return text
    }
  }

  /// A PNG of a bounded size (RFC 2083 §3).
  private static func isPNG(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= 24, bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else { return false }
    return isBounded(number(bytes[16..<20]), number(bytes[20..<24]))
  }

  /// Likewise; the first frame's header gives the size (ITU T.81, B.2.2).
  private static func isJPEG(_ bytes: [UInt8]) -> Bool {
    guard bytes.starts(with: [0xFF, 0xD8]) else { return false }
    var index = 2
    while index + 8 < bytes.count, bytes[index] == 0xFF {
      let marker = bytes[index + 1]
      if 0xC0...0xCF ~= marker, ![0xC4, 0xC8, 0xCC].contains(marker) {
        return isBounded(number(bytes[index + 7..<index + 9]), number(bytes[index + 5..<index + 7]))
      }
      index += marker == 0xFF ? 1 : 2 + number(bytes[index + 2..<index + 4])
    }
    return false
  }

  /// Likewise; no frame is larger than the screen (GIF89a §18).
  private static func isGIF(_ bytes: [UInt8]) -> Bool {
    bytes.count > 13 && bytes.starts(with: "GIF8".utf8)
      && isBounded(number(bytes[6..<8].reversed()), number(bytes[8..<10].reversed()))
  }

  private static func isBounded(_ width: Int, _ height: Int) -> Bool {
    1...mostPixels ~= width && 1...mostPixels ~= height
  }

  private static func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

  static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      let bytes = try? FileDescriptor(rawValue: descriptor).bytes(upTo: mostBytes)
    else { return nil }
    return bytes.count > mostBytes ? nil : bytes
  }
}
