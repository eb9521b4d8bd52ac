public import DownloadModel

/// What every file of a run must meet, and how it gets its name. Each of its Bools is an option of the user's.
public struct ReceivingRules: Sendable {
  public var conflictPolicy = ConflictPolicy.rename
  /// Whether a server may choose a file's name (RFC 6266).
  public var useContentDisposition = true
  /// The numbers for names that occur in the list more than once; nil for requests that are in no list.
  public var names: NameNumbers?
  /// Checksums that files must meet, by name.
  public var checksums: ChecksumList?
  public var requiredProof = Proof.nothing
  public var expectedTypes: ExpectedTypes?
  /// A longer file fails, in bytes (`--max-filesize`); nil for any length.
  public var maxSize: Int64?
  /// Fetch even what is known to be unchanged.
  public var refresh = false
  /// Whether a large file may be filled by several transfers at a time.
  public var splits = true
  /// Whether files get the server's Last-Modified (`--remote-time`).
  public var usesRemoteTime = false
  /// Who reads the file while it comes; then nothing of it is kept.
  public var reader: FileReader?
  /// Seconds since 1970: the wall clock, except in tests.
  public var now: @Sendable () -> Int64 = WallClock.seconds

  public init() {}
}

/// The rules behind a reference, because they are large and every download holds them.
package final class SharedRules: Sendable {
  let rules: ReceivingRules
  /// Whether a server may be asked: neither `--offline` nor `only-if-cached` (RFC 9111 §5.2.1.7).
  package let mayAsk: Bool
  let cacheControlLine: String?

  /// - Parameter cacheControl: the field's value in each request; nil for none.
  package init(_ rules: ReceivingRules, mayAsk: Bool, cacheControl: String?) {
    self.rules = rules
    self.mayAsk = mayAsk
    cacheControlLine = cacheControl.map { "Cache-Control: \($0)" }
  }
}

/// What to do with a file under the wanted name that dlm did not write, or no longer finds as it wrote it.
public enum ConflictPolicy: String, Sendable, CaseIterable {
  /// The new file takes another name: `x.1.tar.gz`.
  case rename
  /// The file that stands there stays, and nothing is fetched.
  case skip
  case overwrite
  /// As `rename`, and the person at the terminal is asked afterwards (`DownloadCache.carryOut`).
  case ask
}
