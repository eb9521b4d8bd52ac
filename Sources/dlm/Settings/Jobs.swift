import ArgumentParser

/// `--jobs`: files at a time, or several such numbers to compare: `1,4,16`.
struct Jobs: ExpressibleByArgument, Equatable, CustomStringConvertible {
  /// At least one element.
  let widths: [Parallelism]
  var description: String { widths.map(\.description).joined(separator: ",") }

  init?(argument: String) {
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
    widths = parts.compactMap { Parallelism(argument: String($0)) }
    if widths.count < parts.count { return nil }
  }
}
