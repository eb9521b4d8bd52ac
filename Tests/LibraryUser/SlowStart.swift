import Downloads

/// Begins with one file, and takes twice as many at a time in each round.
struct SlowStart: DownloadStrategy {
  func run(_ source: some RequestSource, width: Int, download: @escaping Download) async {
    var (round, goesOn) = (1, true)
    while goesOn {
      await withTaskGroup { group in
        for _ in 0..<round where goesOn {
          if let request = await source.next() {
            group.addTask { await download(request) }
          } else {
            goesOn = false
          }
        }
      }
      round = min(width, round * 2)
    }
  }
}
