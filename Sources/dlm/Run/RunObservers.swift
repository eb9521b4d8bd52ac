import DownloadModel

struct RunObservers {
  let recorder: RunRecorder?
  let lists: FileLists?
  let hooks: Hooks?

  init(_ settings: Settings, isTrial: Bool) {
    recorder = settings.report == nil ? nil : RunRecorder()
    // A run for a comparison, or to standard output, leaves no files.
    let writes = !isTrial && (settings.checksumFile != nil || settings.listFile != nil)
    lists = writes ? FileLists(settings: settings) : nil
    let runs = !isTrial && (settings.own.onComplete != nil || settings.own.onDone != nil)
    hooks = runs ? Hooks(settings) : nil
  }

  /// A file has ended, under its final name.
  func settled(_ request: DownloadRequest, _ result: DownloadResult) {
    lists?.files.ended(request, result)
    hooks?.ended(request, result)
  }
}
