package import DownloadModel
package import FileReceiving
import Synchronization
package import SystemPackage

@dynamicMemberLookup
package struct CacheConfiguration: Sendable {
  /// Where finished files go; made if missing, at the first file.
  package var directory: FilePath
  /// The path by which it is opened, where other users may put something else under its own; nil for the same.
  package var heldDirectory: FilePath?
  /// Where the index is kept; nil for no index (`--no-cache`).
  package var cacheFolder: FilePath?
  /// Where the user's secret is kept (`UserSecret`), also without an index; nil for `cacheFolder`. Without either,
  /// later runs do not recognise the parts of this one.
  package var keyFolder: FilePath?
  /// Where this user's processes announce their requests under way; nil for a run that takes no part.
  package var claimsFolder: FilePath?
  package var store = StoreKind.none
  /// How many bytes the store may take; nil for 10 GiB or a tenth of the disk.
  package var maxStoreBytes: Int64?
  /// Whether a file is on the disk itself, name and all, before it counts as finished (`--fsync`).
  package var syncs = false
  /// Whether more than one run goes over the cache: then what it has written itself is asked for too.
  package var servesManyRuns = false
  package var receiving = ReceivingRules()
  /// Answer from the disk or not at all.
  package var offline = false
  package var freshness = FreshnessPolicy()
  /// What an answer depends on beside its address. Only a keyed hash of it is stored.
  package var trust = Trust() { didSet { fields = RequestFields(trust) } }
  private(set) var fields = RequestFields(Trust())
  /// Whether servers have set cookies, or earlier runs had kept some.
  package var holdsCookies: @Sendable () -> Bool = { false }
  /// Called when a request waits for another process that downloads the same file.
  package var onWait: @Sendable (DownloadRequest, _ process: Int?) -> Void = { _, _ in }

  package init(directory: FilePath, cacheFolder: FilePath?) {
    self.directory = directory
    self.cacheFolder = cacheFolder
  }

  package subscript<Value>(dynamicMember member: WritableKeyPath<ReceivingRules, Value>) -> Value {
    get { receiving[keyPath: member] }
    set { receiving[keyPath: member] = newValue }
  }
}
