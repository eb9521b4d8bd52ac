import Downloads

/// Downloads the last URL first. Each file is also at the mirror, under its own name.
func downloadItems(_ addresses: [String], mirror: String, into folder: String) async throws {
  var items = addresses.map { DownloadItem($0) }
  for (index, address) in addresses.enumerated() {
    let name = address.split(separator: "/").last ?? ""
    items[index].mirrors = ["\(mirror)/\(name)"]
    items[index].headerLines = ["X-Position: \(index)"]
    items[index].isFirst = index == addresses.count - 1
  }
  try await withDownloads(into: folder) { downloads in
    for try await event in downloads.download(items, strategy: .sequential, progressInterval: nil) {
      if case .finished(_, let item, let file) = event { print("\(item.address) is \(file.path)") }
      if case .failed(_, let item, let error) = event { print("\(item.address) failed: \(error.reason)") }
    }
  }
}
