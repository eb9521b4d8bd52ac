public import DownloadModel

/// `width` lanes, each a sequential loop over the shared list, made with `async let`.
///
///     lanes(4) ─┬─ lanes(2) ─┬─ a ──► d ──►
///               │            └─ b ────────► g ─►
///               └─ lanes(2) ─┬─ c ─► e ──► f ──►
///                            └─ …
///
/// The children of `async let` are fixed when the program is compiled, so a number known only at run time is reached by
/// halving: each call starts one half as a child and runs the other itself. That costs 2 × width − 1 calls for the run,
/// and no task for each file; but no file's own result can be awaited from outside.
public struct AsyncLetStrategy: DownloadStrategy {
  public init() {}

  public func run(_ source: some RequestSource, width: Int, download: @escaping Download) async {
    guard width > 1 else { return await SequentialStrategy().run(source, width: 1, download: download) }
    async let half: Void = run(source, width: width / 2, download: download)
    await run(source, width: width - width / 2, download: download)
    await half
  }
}
