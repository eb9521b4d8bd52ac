import DownloadCaching
import DownloadModel
import FileReceiving
import SystemPackage
import TerminalProgress

/// The JSON output of `dlm cache`, as described in the article <doc:CacheCommands>. Texts are sanitized here, before
/// JSON escapes their characters.
enum CacheJSON {
  static func path(_ folder: String) -> JSONValue { JSONValue(["folder": text(folder)]) }

  static func status(_ status: CacheStatus, _ running: [RunningDownloads], _ unfinished: [UnfinishedFile]) -> JSONValue
  {
    JSONValue([
      "entries": status.entries, "fileBytes": status.fileBytes, "indexBytes": status.indexBytes,
      "storeBytes": status.storeBytes, "folder": text(status.folder.string),
      "running": running.map(value), "unfinished": unfinished.map(value),
    ])
  }

  static func entry(_ entry: CacheEntry) -> JSONValue {
    JSONValue([
      "condition": entry.condition.rawValue, "size": entry.size, "url": text(entry.address),
      "path": text(entry.path.string), "fetchedAt": time(entry.row.fetchedAt),
      "message": text(entry.failure.map { FailureMessages($0).line }),
    ])
  }

  static func known(_ address: String, _ files: [CacheEntry], _ unfinished: [UnfinishedFile], now: Int64) -> JSONValue {
    JSONValue([
      "url": text(address), "files": files.map { value($0, now) },
      "unfinished": unfinished.map(value),
    ])
  }

  static func freed(_ freed: Freed) -> JSONValue {
    JSONValue([
      "entries": freed.entries, "bytes": freed.bytes, "files": freed.files,
      "fileBytes": freed.fileBytes, "filesKept": freed.filesKept, "unfinished": freed.parts,
      "unfinishedBytes": freed.partBytes, "unfinishedInUse": freed.partsInUse,
      "failures": freed.failures.map { JSONValue(["path": text($0.path), "message": text(FailureMessages($0).line)]) },
    ])
  }

  private static func text(_ text: String?) -> String? { text.map(TerminalText.sanitized) }

  private static func time(_ seconds: Int64) -> String {
    TimeText.utc(milliseconds: seconds.multipliedReportingOverflow(by: 1000).partialValue)
  }

  private static func value(_ file: UnfinishedFile) -> JSONValue {
    JSONValue([
      "url": text(file.address), "path": text(file.path.string), "bytes": file.bytes,
      "total": file.total, "keyed": file.isKeyed,
    ])
  }

  static func value(_ running: RunningDownloads) -> JSONValue {
    JSONValue([
      "process": running.process, "directory": text(running.directory), "listed": running.listed,
      "listIsComplete": running.listIsComplete, "done": running.done, "failed": running.failed,
      "bytes": running.bytes, "rate": running.rate, "more": running.more, "list": text(running.list),
      "fraction": running.fraction, "secondsLeft": running.secondsLeft,
      "active": running.active.map { JSONValue(["url": text($0.url), "bytes": $0.bytes, "total": $0.total]) },
    ])
  }

  private static func value(_ file: CacheEntry, _ now: Int64) -> JSONValue {
    let validator = file.row.validator
    return JSONValue([
      "path": text(file.path.string), "size": file.size, "condition": file.condition.rawValue,
      "fetchedAt": time(file.row.fetchedAt), "usedAt": time(file.row.usedAt),
      "freshUntil": file.freshUntil(at: now).map(time), "keyed": file.isKeyed,
      "stored": file.isStored, "chosenName": text(file.chosenName), "status": file.row.status,
      "etag": text(validator.etag), "lastModified": text(validator.lastModified), "date": text(validator.date),
      "cacheControl": text(file.row.freshness.cacheControl), "expires": text(file.row.freshness.expires),
      "age": text(file.row.freshness.age),
      "vary": text(file.row.freshness.vary), "effectiveURL": text(file.row.effectiveURL), "digest": text(file.digest),
    ])
  }
}
