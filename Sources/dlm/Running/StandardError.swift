import Glibc

/// Standard error, for words to people. Nobody is left to tell when it fails.
struct StandardError: TextOutputStream {
  mutating func write(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return }
      bytes = bytes.dropFirst(count)
    }
  }

  static func say(_ lines: some Sequence<String>) {
    var text = ""
    for line in lines { text += line + "\n" }
    var stream = StandardError()
    stream.write(text)
  }
}
