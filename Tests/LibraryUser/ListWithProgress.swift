import Downloads

func downloadList(_ addresses: [String], into folder: String) async throws {
  try await withDownloads(into: folder) { downloads in
    for try await event in downloads.download(addresses, strategy: .taskGroup(width: 16)) {
      switch event {
      case .began(_, let item): print("\(item.address) began")
      case .progress(let file): print("\(file.item.address): \(file.bytes) of \(file.total ?? 0) bytes")
      case .retrying(_, let item, let next, _): print("\(item.address) again in \(next.delay)")
      case .finished(_, let item, let file): print("\(item.address) is \(file.path), \(file.size) bytes")
      case .failed(_, let item, let error): print("\(item.address) failed: \(error)")
      }
    }
  }
}
