import ArgumentParser

struct ListOptions: ParsableArguments {
  @Option("list-format") var format: ListFormat?
  @Option("base") var base: String?
  @Option("accept") var accept: [String] = []
  @Option("depth") var depth: UInt?
  @Flag("glob") var glob = false
  @Flag("keep-paths") var keepPaths = false
  @Flag("prefix-host") var prefixHost = false
  @Flag("no-prefer-https") var noPreferHTTPS = false
  @Flag("no-unwrap") var noUnwrap = false
  @Option("url-template") var template: String?
  @Option("preset") var preset: Preset?
  @Option("items") var items: String?
  @Option("next-field") var nextField: String?
  @Option("url-field") var urlField: String?
  @Option("name-field") var nameField: String?
  @Option("checksum-field") var checksumField: String?
  @Option("size-field") var sizeField: String?
  @Option("split") var split: String?
  @Option("shard") var shard: ShardArgument?
  @Option("shard-by") var shardBy: Shard.Unit?

  /// A list from standard input is stored as lines, whatever its format was.
  mutating func areThoseOfLines() {
    format = nil
    base = nil
    template = nil
    preset = nil
    items = nil
    nextField = nil
    accept = []
    depth = nil
    glob = false
    urlField = nil
    nameField = nil
    checksumField = nil
    sizeField = nil
    split = nil
  }
}
