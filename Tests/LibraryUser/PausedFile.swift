import Downloads

/// Prints the progress of one file, and pauses the download once, for a second.
func downloadWithPause(_ address: String, into folder: String) async throws {
  try await withDownloads(into: folder) { downloads in
    let control = DownloadControl()
    async let file = downloads.download(address, control: control)
    var hasPaused = false
    for await progress in control.progress {
      print("\(progress.bytes) of \(progress.total ?? 0) bytes")
      if hasPaused { continue }
      hasPaused = true
      control.pause()
      try await Task.sleep(for: .seconds(1))
      control.resume()
    }
    print("\(try await file.path) is complete")
  }
}
