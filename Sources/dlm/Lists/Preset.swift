import ArgumentParser
import DownloadModel

/// How a publisher's lists are written. `zenodo:3520874` is a list at an address.
struct Preset: Sendable {
  let name: String
  let format: ListFormat
  /// The address of a list; {} is the id.
  let list: String
  var items: String?
  /// What stands before values that are no addresses; {} is the id.
  var prefix: String?
  var split: UInt8?
  var fields: [RowFields.Field: String] = [:]

  static let all: [Preset] = [
    // Common Crawl, "Get started": a line is a path; the id is CC-MAIN-2024-10/warc.
    Preset(
      name: "commoncrawl", format: .lines, list: "https://data.commoncrawl.org/crawl-data/{}.paths.gz",
      prefix: "https://data.commoncrawl.org/"),
    // Croissant 1.0, FileObject: contentSize may be rounded, and is left out.
    Preset(
      name: "croissant", format: .json, list: "{}", items: "distribution[]",
      fields: [.url: "contentUrl", .checksum: "sha256"]),
    // ENA Portal API, filereport: several files of a run are separated by semicolons.
    Preset(
      name: "ena", format: .tsv,
      list: "https://www.ebi.ac.uk/ena/portal/api/filereport?accession={}&result=read_run"
        + "&fields=fastq_ftp,fastq_md5,fastq_bytes&format=tsv",
      prefix: "https://", split: UInt8(ascii: ";"),
      fields: [.url: "fastq_ftp", .checksum: "fastq_md5", .size: "fastq_bytes"]),
    // GDC API User's Guide, "Downloading Files": the id is one UUID, or several with commas.
    Preset(
      name: "gdc", format: .tsv, list: "https://api.gdc.cancer.gov/manifest/{}",
      prefix: "https://api.gdc.cancer.gov/data/",
      fields: [.url: "id", .name: "filename", .checksum: "md5", .size: "size"]),
    // Hugging Face, Hub API, /api/models with blobs=true: small files have no checksum.
    Preset(
      name: "hf", format: .json, list: "https://huggingface.co/api/models/{}?blobs=true", items: "siblings[]",
      prefix: "https://huggingface.co/{}/resolve/main/",
      fields: [.url: "rfilename", .name: "rfilename", .checksum: "lfs.sha256", .size: "size"]),
    // Internet Archive, "Item Metadata API: Read": the list of files itself has no sha1.
    Preset(
      name: "ia", format: .json, list: "https://archive.org/metadata/{}", items: "files[]",
      prefix: "https://archive.org/download/{}/",
      fields: [.url: "name", .name: "name", .checksum: "sha1", .size: "size"]),
    // STAC Item and ItemCollection; the size is of the file extension.
    Preset(
      name: "stac", format: .json, list: "{}", items: "assets.*|features[].assets.*",
      fields: [.url: "href", .size: "file:size"]),
    // The dumpstatus.json of a dump; the id is enwiki/20250801.
    Preset(
      name: "wikimedia", format: .json, list: "https://dumps.wikimedia.org/{}/dumpstatus.json", items: "jobs.*.files.*",
      prefix: "https://dumps.wikimedia.org", fields: [.url: "url", .checksum: "sha1", .size: "size"]),
    // Zenodo REST API, records.
    Preset(
      name: "zenodo", format: .json, list: "https://zenodo.org/api/records/{}", items: "files[]",
      fields: [.url: "links.self", .name: "key", .checksum: "checksum", .size: "size"]),
  ]

  /// What `name:id` means. Nothing if it may hold a secret, since it is remembered as it stands.
  static func named(by source: String) -> (preset: Preset, id: String, address: String)? {
    let parts = source.split(separator: ":", maxSplits: 1)
    guard parts.count == 2, let preset = Preset(argument: String(parts[0])), Redaction.redactedAddress(source) == source
    else { return nil }
    return (preset, String(parts[1]), preset.list.replacing("{}", with: parts[1]))
  }

  /// - Parameters:
  ///   - given: what the user said, which is stronger.
  ///   - id: nil for a list that is at hand.
  func form(_ given: ListForm, id: String? = nil) -> ListForm {
    var form = given
    (form.format, form.items) = (given.format ?? format, given.items ?? items)
    form.fields.names = fields.merging(given.fields.names) { $1 }
    form.fields.split = given.fields.split ?? split
    let prefix = id.flatMap { self.prefix?.replacing("{}", with: $0) } ?? self.prefix
    guard given.base == nil, let prefix, !prefix.contains("{}") else { return form }
    form.fields.prefix = prefix
    if format == .lines { form.base = try? Address(prefix) }
    return form
  }
}

extension Preset: ExpressibleByArgument {
  init?(argument: String) {
    guard let preset = Self.all.first(where: { $0.name == argument }) else { return nil }
    self = preset
  }

  static var allValueStrings: [String] { all.map(\.name) }
  var defaultValueDescription: String { name }
}
