import ArgumentParser

/// In the format of `ByteRate`, or `0`.
struct ByteCount: ExpressibleByArgument {
  let bytes: Int64

  init?(argument: String) {
    guard let bytes = argument == "0" ? 0 : ByteRate(argument: argument)?.bytesPerSecond else { return nil }
    self.bytes = bytes
  }
}
