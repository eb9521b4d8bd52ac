package import CurlTransport
package import DownloadCaching
package import DownloadModel
package import FileReceiving

/// Network loops, each with its thread and a store on it: a run, or a session of this library, opens them first and
/// closes them last. Only this file connects the transport with the cache.
package struct NetworkLoops: Sendable {
  /// The objects of one loop's thread. All work on a file stays on it.
  struct Loop: Sendable {
    let transport: CurlTransport
    let cache: DownloadCache
  }

  let all: [Loop]
  private let jar: CookieJar
  private let firstCookies: [String]

  /// - Parameters:
  ///   - transport: without cookies and group, which all loops share.
  ///   - cookies: those of earlier runs, lines of Netscape's format; `nil` if none are kept between runs.
  /// - Throws: `.folder` if the folder for files cannot be used, `.transport` if no network loop could be started.
  package init(
    _ count: Int, transport: TransportOptions, cache: CacheConfiguration, cookies: [String]? = nil
  ) async throws(DownloadError) {
    let jar = try CookieJar(cookies ?? [])
    firstCookies = cookies == nil ? [] : try jar.lines()
    var options = transport
    var configuration = cache
    options.cookieJar = jar
    options.group = TransportGroup()
    configuration.holdsCookies = { jar.holdsCookies }
    configuration.trust = options.trust
    configuration.trust.cookies = cookies ?? []
    let resources = CacheResources(configuration)
    options.limits.share(resources.accounts)
    var loops: [Loop] = []
    do throws(DownloadError) {
      for _ in 0..<max(1, count) {
        let transport = try CurlTransport(options)
        let cache = DownloadCache(
          configuration: configuration, resources: resources, executor: transport.serialExecutor)
        loops.append(Loop(transport: transport, cache: cache))
        try await cache.prepare()
      }
    } catch {
      for loop in loops { await loop.transport.shutdown() }
      throw error
    }
    all = loops
    self.jar = jar
  }

  /// Details of the transfers in flight for a file, the oldest first.
  package func details(of meter: TransferMeter) async -> [TransferDetails] {
    var details: [TransferDetails] = []
    for loop in all { details += await loop.transport.details(of: meter) }
    return details
  }

  /// Makes the next request for each file check the disk again, and ask its server.
  package func askAnew() async { for loop in all { await loop.cache.askAnew() } }

  /// Writes the records of finished files that the index does not have yet.
  func writeRows() async { for loop in all { await loop.cache.writeRows() } }

  package func carryOut(
    _ decision: NameDecision, on outcome: DownloadOutcome, of request: DownloadRequest
  ) async throws(DownloadError) -> String? {
    try await all[0].cache.carryOut(decision, on: outcome, of: request)
  }

  /// The cookies at the start and now, lines of Netscape's format; `nil` if there are none. Secrets.
  package func cookies() throws(DownloadError) -> (before: [String], after: [String])? {
    jar.holdsCookies ? (firstCookies, try jar.lines()) : nil
  }

  /// Writes the cache's index, and closes the connections; returns the cache's warnings.
  package func close() async -> [CacheWarning] {
    // In parallel, because each takes a few changes of thread.
    await withTaskGroup { group in
      for loop in all {
        group.addTask {
          let warnings = await loop.cache.close()
          await loop.transport.shutdown()
          return warnings
        }
      }
      return await group.reduce(into: [CacheWarning]()) { all, some in
        for warning in some where !all.contains(warning) { all.append(warning) }
      }
    }
  }
}
