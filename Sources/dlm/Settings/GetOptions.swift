import ArgumentParser
import DownloadCaching
import DownloadModel
import FileReceiving

/// The options of `dlm get` only: runs that are only measured do not need them.
struct GetOptions: ParsableArguments {
  @Option("mode") var mode: DownloadMode?
  @Flag("list") var list = false
  @Option("directory") var directory: String?
  @Option("output") var output: String?
  @Option("on-conflict") var onConflict: ConflictPolicy?
  @Option("max-filesize") var maxFilesize: ByteRate?
  @Flag("ask-names") var askNames = false
  @Flag("no-cache") var noCache = false
  @Option("store") var store: StoreKind?
  @Option("cache-max-size") var cacheMaxSize: ByteRate?
  @Flag("refresh") var refresh = false
  @Flag("offline") var offline = false
  @Flag("revalidate") var revalidate = false
  @Flag("heuristic") var heuristic = false
  @Option("max-age") var maxAge: TimeSpan?
  @Option("max-stale") var maxStale: TimeSpan?
  @Flag("fsync") var fsync = false
  @Flag("remote-time") var remoteTime = false
  @Flag("no-content-disposition") var noContentDisposition = false
  @Option("checksum") var checksum: ContentDigest?
  @Option("checksums") var checksums: String?
  @Option("require-proof") var requireProof: Proof?
  @Option("expect") var expect: ExpectedTypes?
  @Option("first") var first: [String] = []
  @Option("order") var order: RequestOrder?
  @Flag("detach") var detach = false
  @Flag("background") var background = false
  @Option("grace") var grace: Seconds?
  @Option("failed") var failed: String?
  @Option("on-complete") var onComplete: HookCommand?
  @Option("on-done") var onDone: HookCommand?
  @Option("write-checksums") var writeChecksums: String?
  @Option("write-list") var writeList: String?
  @Option("events") var events: String?
  @Option("summary-json") var summaryJSON: String?
  @Flag("no-keys") var noKeys = false
  @Flag("no-compare") var noCompare = false
  @Flag("watch") var watch = false
  @Option("refresh-every") var refreshEvery: TimeSpan?
  @Flag("dry-run") var dryRun = false
  @Flag("json") var json = false
}
