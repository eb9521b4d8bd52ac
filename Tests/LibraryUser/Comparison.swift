import Downloads

func compare(_ addresses: [String], into folder: String) async throws {
  let strategies: [(name: String, Downloads.Schedule)] = [
    ("sequential", .sequential), ("async-let", .asyncLet(width: 8)), ("task-group", .taskGroup(width: 8)),
    ("slow-start", .own(SlowStart(), width: 8)),
  ]
  for (name, strategy) in strategies {
    try await withDownloads(into: "\(folder)/\(name)") { downloads in
      let time = try await ContinuousClock().measure {
        for try await event in downloads.download(addresses, strategy: strategy, progressInterval: nil) {
          if case .failed(_, _, let error) = event { throw error }
        }
      }
      print("\(name) took \(time)")
    }
  }
}
