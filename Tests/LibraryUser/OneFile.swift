import Downloads

func downloadOne(_ address: String, into folder: String) async throws {
  let downloads = try await Downloads(into: folder, cacheFolder: "\(folder)/.cache")
  do throws(DownloadError) {
    let file = try await downloads.download(address)
    print("\(file.path): \(file.size) bytes, \(file.kind)")
  } catch {
    print("\(address) failed: \(error.code.rawValue), \(error.reason)")
  }
  await downloads.close()
}
