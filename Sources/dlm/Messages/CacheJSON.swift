import DownloadCaching
import DownloadModel
import SystemPackage
import TerminalProgress

/// What `dlm cache` says to programs, as the article <doc:CacheCommands> lists it. Texts are sanitized here, before
/// JSON escapes what is in them.
enum CacheJSON {
  static func path(_ folder: String) -> String { line(["folder": text(folder)]) }

  static func status(_ status: CacheStatus, _ running: [RunningDownloads], _ unfinished: [UnfinishedFile]) -> String {
    line([
      "entries": .of(status.entries), "fileBytes": .of(status.fileBytes), "indexBytes": .of(status.indexBytes),
      "storeBytes": .of(status.storeBytes), "folder": text(status.folder.string),
      "running": .list(running.map { value($0) }), "unfinished": .list(unfinished.map { value($0) }),
    ])
  }

  static func entry(_ entry: CacheEntry) -> String {
    line([
      "condition": .text(entry.condition.rawValue), "size": .of(entry.size), "url": text(entry.address),
      "path": text(entry.path.string), "fetchedAt": time(entry.fetchedAt),
      "message": text(entry.failure.map { FailureMessages($0).line }),
    ])
  }

  static func known(_ address: String, _ files: [CacheDetail], _ unfinished: [UnfinishedFile]) -> String {
    line([
      "url": text(address), "files": .list(files.map { value($0) }), "unfinished": .list(unfinished.map { value($0) }),
    ])
  }

  static func freed(_ freed: Freed) -> String {
    line([
      "entries": .of(freed.entries), "bytes": .of(freed.bytes), "files": .of(freed.files),
      "fileBytes": .of(freed.fileBytes), "filesKept": .of(freed.filesKept), "unfinished": .of(freed.parts),
      "unfinishedBytes": .of(freed.partBytes), "unfinishedInUse": .of(freed.partsInUse),
      "failures": .list(
        freed.failures.map { .object(["path": text($0.path), "message": text(FailureMessages($0).line)]) }),
    ])
  }

  private static func line(_ fields: [String: JSONValue]) -> String { JSONValue.object(fields).text + "\n" }

  private static func text(_ text: String?) -> JSONValue { .of(text.map { TerminalText.sanitized($0) }) }

  private static func time(_ seconds: Int64) -> JSONValue {
    .text(TimeText.utc(milliseconds: seconds.multipliedReportingOverflow(by: 1000).partialValue))
  }

  private static func value(_ file: UnfinishedFile) -> JSONValue {
    .object([
      "url": text(file.address), "path": text(file.path.string), "bytes": .of(file.bytes),
      "total": .of(file.total), "keyed": .flag(file.isKeyed),
    ])
  }

  private static func value(_ running: RunningDownloads) -> JSONValue {
    .object([
      "process": .of(running.process), "directory": text(running.directory), "listed": .of(running.listed),
      "listIsComplete": .flag(running.listIsComplete), "done": .of(running.done), "failed": .of(running.failed),
      "bytes": .of(running.bytes), "rate": .of(running.rate), "more": .of(running.more),
      "active": .list(
        running.active.map { .object(["url": text($0.url), "bytes": .of($0.bytes), "total": .of($0.total)]) }),
    ])
  }

  private static func value(_ file: CacheDetail) -> JSONValue {
    let (entry, validator) = (file.entry, file.entry.validator)
    return .object([
      "path": text(entry.path.string), "size": .of(entry.size), "condition": .text(entry.condition.rawValue),
      "fetchedAt": time(entry.fetchedAt), "usedAt": time(file.usedAt),
      "freshUntil": file.freshUntil.map { time($0) } ?? .null, "keyed": .flag(file.isKeyed),
      "stored": .flag(file.isStored), "chosenName": text(file.chosenName), "status": .of(file.status),
      "etag": text(validator.etag), "lastModified": text(validator.lastModified), "date": text(validator.date),
      "cacheControl": text(file.cacheControl), "expires": text(file.expires), "age": text(file.age),
      "vary": text(file.vary), "effectiveURL": text(file.effectiveURL), "digest": text(file.digest),
    ])
  }
}
