import ArgumentParser

/// A `TimeSpan` above zero.
struct Seconds: ExpressibleByArgument, CustomStringConvertible {
  let duration: Duration
  let description: String

  init?(argument: String) {
    description = argument
    guard let seconds = TimeSpan.seconds(argument), seconds > 0 else { return nil }
    duration = .seconds(seconds)
  }
}
