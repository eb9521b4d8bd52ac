public import DownloadModel

/// `width` lanes, each a sequential loop over the shared list, made with `async let`.
///
///     lanes(4) ─┬─ lanes(2) ─┬─ a ──► d ──►
///               │            └─ b ────────► g ─►
///               └─ lanes(2) ─┬─ c ─► e ──► f ──►
///                            └─ …
///
/// The children of `async let` are fixed when the program is compiled: two names are two children. A number that
/// is known only at run time is reached by halving: each call starts one half as a child and is the other half.
/// That costs 2 × width − 1 calls for the whole run and no task a file; but a lane is bound to its loop, so what
/// a single file came to cannot be awaited from outside of it, as a task group's child can.
public struct AsyncLetStrategy: DownloadStrategy {
  public init() {}

  public func run(
    _ source: some RequestSource, width: Int, isolation: isolated (any Actor)?, download: @escaping Download
  ) async {
    guard width > 1 else {
      return await SequentialStrategy().run(source, width: 1, isolation: isolation, download: download)
    }
    async let oneHalf: Void = run(source, width: width / 2, isolation: isolation, download: download)
    await run(source, width: width - width / 2, isolation: isolation, download: download)
    await oneHalf
  }
}
