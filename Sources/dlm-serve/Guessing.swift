/// Makes wrong tokens slow. A right one never waits.
actor Guessing {
  private var waiting = 0
  private static let pause = Duration.seconds(1)
  /// Of those that wait; further ones are refused at once, so that they keep no connection.
  private static let most = 16

  func wait() async {
    guard waiting < Self.most else { return }
    waiting += 1
    try? await Task.sleep(for: Self.pause)  // ends early only for a cancelled task
    waiting -= 1
  }
}
