import DownloadCaching
import DownloadModel
import RunDoors
import FileReceiving
import SystemPackage
import TerminalProgress

/// The JSON output of `dlm cache` and `dlm status`, as described in the article <doc:CacheCommands>.
enum CacheJSON {
  /// An object whose texts are sanitized before JSON escapes their characters.
  static func object(_ fields: JSONFields) -> JSONValue {
    .object(
      fields.mapValues { field -> JSONValue in
        guard case .text(let text) = field.json else { return field.json }
        return .text(TerminalText.sanitized(text))
      })
  }

  static func path(_ folder: String) -> JSONValue { object(["folder": folder]) }

  static func status(_ status: CacheStatus, _ running: [RunStatus], _ unfinished: [UnfinishedFile]) -> JSONValue {
    object([
      "entries": status.entries, "fileBytes": status.fileBytes, "indexBytes": status.indexBytes,
      "storeBytes": status.storeBytes, "folder": status.folder.string,
      "running": running.map(\.json), "unfinished": unfinished.map(value),
    ])
  }

  static func entry(_ entry: CacheEntry) -> JSONValue {
    object([
      "condition": entry.condition.rawValue, "size": entry.size, "url": entry.address,
      "path": entry.path.string, "fetchedAt": time(entry.row.fetchedAt),
      "message": entry.failure.map { FailureMessages($0).line },
    ])
  }

  static func known(_ address: String, _ files: [CacheEntry], _ unfinished: [UnfinishedFile], now: Int64) -> JSONValue {
    object([
      "url": address, "files": files.map { value($0, now) },
      "unfinished": unfinished.map(value),
    ])
  }

  static func freed(_ freed: Freed) -> JSONValue {
    object([
      "entries": freed.entries, "bytes": freed.bytes, "files": freed.files,
      "fileBytes": freed.fileBytes, "filesKept": freed.filesKept, "unfinished": freed.parts,
      "unfinishedBytes": freed.partBytes, "unfinishedInUse": freed.partsInUse,
      "failures": freed.failures.map { object(["path": $0.path, "message": FailureMessages($0).line]) },
    ])
  }

  private static func time(_ seconds: Int64) -> String {
    TimeText.utc(milliseconds: seconds &* 1000)
  }

  private static func value(_ file: UnfinishedFile) -> JSONValue {
    object([
      "url": file.address, "path": file.path.string, "bytes": file.bytes,
      "total": file.total, "keyed": file.isKeyed,
    ])
  }

  private static func value(_ file: CacheEntry, _ now: Int64) -> JSONValue {
    let validator = file.row.validator
    return object([
      "path": file.path.string, "size": file.size, "condition": file.condition.rawValue,
      "fetchedAt": time(file.row.fetchedAt), "usedAt": time(file.row.usedAt),
      "freshUntil": file.freshUntil(at: now).map(time), "keyed": file.isKeyed,
      "stored": file.isStored, "chosenName": file.chosenName, "status": file.row.status,
      "etag": validator.etag, "lastModified": validator.lastModified, "date": validator.date,
      "cacheControl": file.row.freshness.cacheControl, "expires": file.row.freshness.expires,
      "age": file.row.freshness.age,
      "vary": file.row.freshness.vary, "effectiveURL": file.row.effectiveURL, "digest": file.digest,
    ])
  }
}
