import FileReceiving

/// The configuration behind a reference, because it is large and every download holds it.
final class SharedConfiguration: Sendable {
  let configuration: CacheConfiguration
  /// The directives of options and header lines about stored answers, combined.
  let directives: RequestDirectives
  let receiving: SharedRules

  init(_ configuration: CacheConfiguration) {
    self.configuration = configuration
    directives = configuration.fields.directives.combined(
      RequestDirectives(cacheControl: configuration.freshness.cacheControl))
    receiving = SharedRules(
      configuration.receiving, mayAsk: !configuration.offline && !directives.onlyIfCached,
      cacheControl: configuration.receiving.refresh ? "no-cache" : configuration.freshness.cacheControl)
  }
}
