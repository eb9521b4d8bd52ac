import DownloadModel
import SystemPackage

extension PartialSlot {
  /// Gives the file its final name; false if something stands under it.
  /// - Parameter replacing: needs a file that was shown: only rename replaces, and it needs a name to come from.
  mutating func place(as name: String, replacing: Bool) throws(DownloadError) -> Bool {
    do throws(Errno) {
      if isNamed { try descriptor.flushAndReport() }
      do throws(Errno) {
        if replacing {
          try directory.folder.rename(names.part, replacing: name)
        } else if isNamed {
          try directory.folder.rename(names.part, toFree: name)
        } else if let route = directory.route {
          try directory.folder.link(descriptor, as: name, route)
        }
      } catch .fileExists where !replacing {
        return false
      }
      // What was the user's alone while it was a part. After the naming: killed between the two, dlm leaves a file that
      // is whole and private, where a part that others may write would be nobody's to the next run.
      if isNamed { try descriptor.setMode(directory.modeOfFinishedFiles) }
      isNamed = false
      try removeRecord()
      release()
      return true
    } catch {
      throw directory.failure(error, "naming", name)
    }
  }

  /// Empties the file: what it held was of another version.
  func empty() throws(DownloadError) {
    do throws(Errno) { try descriptor.truncate(to: 0) } catch {
      throw directory.failure(error, "emptying", names.part)
    }
  }

  /// Removes part and record, and frees the name.
  mutating func discard() throws(DownloadError) {
    do throws(Errno) {
      if isNamed { try directory.folder.remove(names.part) }
      isNamed = false
      try removeRecord()
      release()
    } catch {
      throw directory.failure(error, "removing", names.part)
    }
  }

  /// Closes the file, which frees its lock, and frees the name in flight.
  mutating func release() {
    descriptor = .closed
    claim = nil
  }

  private mutating func removeRecord() throws(Errno) {
    guard hasRecord else { return }
    try directory.folder.remove(names.record)
    directory.forgetRecord(names.record)
    hasRecord = false
  }
}
