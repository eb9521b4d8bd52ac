import ArgumentParser

/// `500x4K`: a number of files of that length.
struct FileSet: ExpressibleByArgument, Equatable {
  let count: Int
  let size: Int

  init?(argument: String) {
    let parts = argument.lowercased().split(separator: "x")
    guard parts.count == 2, let count = Int(parts[0]), count > 0, count <= 100_000,
      let size = ByteRate(argument: String(parts[1])), size.bytesPerSecond <= 1 << 40
    else { return nil }
    self.count = count
    self.size = Int(size.bytesPerSecond)
  }
}
