public import DownloadModel

/// `width` lanes, each a sequential loop over the shared list, made with `async let`.
///
///     lanes(4) ─┬─ lanes(2) ─┬─ a ──► d ──►
///               │            └─ b ────────► g ─►
///               └─ lanes(2) ─┬─ c ─► e ──► f ──►
///                            └─ …
///
/// The children of `async let` are fixed when the program is compiled: two names are two children. A number that is
/// known only at run time is reached by halving: each call starts one half as a child and runs the other half itself.
/// That costs 2 × width − 1 calls for the whole run and no task for each file. But a lane is bound to its loop, so the
/// result of a single file cannot be awaited from outside, as that of a task group's child can.
public struct AsyncLetStrategy: DownloadStrategy {
  public init() {}

  public func run(_ source: some RequestSource, width: Int, download: @escaping Download) async {
    guard width > 1 else { return await SequentialStrategy().run(source, width: 1, download: download) }
    async let half: Void = run(source, width: width / 2, download: download)
    await run(source, width: width - width / 2, download: download)
    await half
  }
}
