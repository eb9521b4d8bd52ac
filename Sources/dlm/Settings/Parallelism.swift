import ArgumentParser

/// `N`, or `nil` for `auto`. As for the types below, the description is a valid argument of `init(argument:)`.
struct Parallelism: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let number: Int?
  var description: String { number.map { "\($0)" } ?? "auto" }

  init?(argument: String) {
    number = Int(argument)
    guard argument == "auto" || number ?? 0 >= 1 else { return nil }
  }
}
