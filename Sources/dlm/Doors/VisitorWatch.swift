import DownloadModel
import RunDoors
import TerminalProgress

/// What one visitor sees of the run: it is drawn here, and shown there.
struct VisitorWatch: Sendable {
  private let screen: VisitorScreen
  private let renderer: ProgressRenderer
  private let presses = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  /// - Parameters:
  ///   - most: events that wait for the visitor.
  ///   - beginning: of the run.
  init?(
    _ visitor: DoorVisitor, _ watch: DoorCommand.Watch, _ feed: ProgressFeed, keeping most: Int,
    since beginning: ContinuousClock.Instant
  ) {
    let style = watch.style == .bars ? ProgressStyle.Resolved.bars : .plain
    screen = VisitorScreen(visitor, size: watch.size)
    let environment = TerminalEnvironment(isTerminal: style == .bars, variables: watch.terminal ?? [:])
    guard
      let renderer = ProgressRenderer(
        feed: feed, keeping: most, style: style, output: screen, environment: environment, words: .forDisplay,
        since: beginning)
    else { return nil }
    self.renderer = renderer
  }

  func run(_ controls: RunControls) async {
    async let _: Void = {
      for await _ in presses.stream { await ScreenKeys.describe(controls.wiring, renderer) }
    }()
    await renderer.run()
    presses.continuation.finish()
  }

  func end() async { await renderer.finish() }

  func take(_ command: DoorCommand, _ controls: RunControls) async {
    switch command.verb {
    case "size": screen.resize(to: (command.watch ?? DoorCommand.Watch()).size)
    default:
      let key = command.key.flatMap(ScreenKey.init(rawValue:)) ?? .unknown
      if let command = await renderer.press(key) {
        await ScreenKeys.carryOut(command, controls.wiring, renderer, stop: controls.stop)
      }
      presses.continuation.yield()
    }
  }
}
