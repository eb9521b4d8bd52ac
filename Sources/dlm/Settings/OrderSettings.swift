public import ArgumentParser
public import DownloadModel

// Which files go first, and what goes before dlm itself: the options, and what they come to.

extension RequestOrder: ExpressibleByArgument {
  public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
  public static var allValueDescriptions: [String: String] { [:] }
}

struct OrderOptions: ParsableArguments {
  @Option(
    help: .value(
      "pattern",
      "What matches goes first: names as the shell matches them, *.pdf, or the end of a path, "
        + "docs/*; may be repeated (default: none)."))
  var first: [String] = []

  @Option(
    help: .value(
      "order", "Which files go before others, as far as the list is read and sizes are known (default: " + "list)."))
  var order: RequestOrder?

  @Flag(help: "Give way: idle processor and disk time only, one connection a host, none that another dlm uses.")
  var background = false
}

/// Which files of a run go before others, and whether others go before the run.
struct OrderSettings {
  let first: [NamePattern]
  let order: RequestOrder
  /// `--background`.
  let isBackground: Bool

  init(_ options: OrderOptions) {
    first = options.first.map { NamePattern($0) }
    order = options.order ?? .list
    isBackground = options.background
  }

  /// Whether another order than the list's may hold from the beginning.
  var looksAhead: Bool { !first.isEmpty || order != .list }
  /// Whether sizes decide.
  var usesSizes: Bool { order == .small || order == .large }
}
