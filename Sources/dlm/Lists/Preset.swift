import ArgumentParser
import DownloadModel
import Glibc
import SystemPackage

extension [Source] {
  /// Lines of a list that are read to find the origins of its URLs.
  private static let lookahead = 1000

  /// Whether files or lists of these sources have the origin of a URL, so that the user's header lines, which are for
  /// that origin, may be sent there, too (HTTP rule 49). Lists that can be read only once are skipped.
  func haveOrigin(of url: String, _ form: ListForm) async -> Bool {
    guard let address = ListLine(url.utf8).address else { return false }
    for source in self {
      switch source {
      case .address(let text), .listAt(let text):
        if ListLine(text.utf8).address?.isSameOrigin(as: address) == true { return true }
      case .list where !source.isReadOnce:
        let reader = ListReader([source], RequestMarks(form: form))
        for _ in 0..<Self.lookahead {
          guard let request = await reader.next() else { break }
          if request.address.isSameOrigin(as: address) { return true }
        }
        reader.stop()
      case .list, .standardInput: break
      }
    }
    return false
  }
}

/// The format of a publisher's lists. `zenodo:3520874` is a list at a URL.
struct Preset {
  let name: String
  private let format: ListFormat
  /// The URL of a list; {} is the id.
  private let list: String
  /// Values for the options of those names, except that `base` is the prefix of values that are no URLs; {} is the id.
  private let options: [String: String]

  /// - Parameter line: `NAME FORMAT URL` and options: `items=files[] url-field=links.self`.
  init?(_ line: String) {
    let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
    guard words.count > 2, let format = ListFormat(rawValue: words[1]) else { return nil }
    name = words[0]
    self.format = format
    list = words[2]
    let pairs = words.dropFirst(3).map { $0.split(separator: "=", maxSplits: 1).map(String.init) + ["", ""] }
    options = Dictionary(pairs.map { ($0[0], $0[1]) }) { $1 }
    let known = RowFields.Field.allCases.map(\.option) + ["base", "items", "next-field", "split"]
    if !options.allSatisfy({ known.contains($0.key) && !$0.value.isEmpty }) { return nil }
  }

  /// Presets of the user's own settings folder, one a line.
  private static let own: [Preset] = {
    let path = XDGFolders().config?.appending("presets.conf").string ?? ""
    guard access(path, F_OK) == 0 else { return [] }
    do throws(UserFile.Refusal) {
      let text = String(utf8: try UserFile.bytes(path, upTo: 64 * 1024))
      let presets = OptionTable.lines(of: text).filter { $0.first != "#" }.map { ($0, Preset($0)) }
      StandardError.say(
        presets.filter { $1 == nil }.map {
          "dlm: \(path): \"\($0.0)\" is not a preset, and is ignored; write NAME FORMAT URL items=PATH …"
        })
      return presets.compactMap(\.1)
    } catch {
      StandardError.say("dlm: \(path) is not read: \(UsageMessages.cause(error))")
      return []
    }
  }()

  // Common Crawl, "Get started": a line is a path; the id is CC-MAIN-2024-10/warc. Croissant 1.0, FileObject:
  // contentSize may be rounded, and is ignored. ENA Portal API, filereport: several files of a run are separated by
  // semicolons. GDC API User's Guide, "Downloading Files": the id is one UUID, or several with commas. Hugging Face,
  // Hub API, /api/models and /api/datasets with blobs=true: small files have no checksum. Internet Archive, "Item
  // Metadata API: Read": the list of files itself has no sha1. STAC Item, ItemCollection and API: the size is of the
  // file extension. The dumpstatus.json of a dump of Wikimedia; the id is enwiki/20250801. Zenodo REST API: a record,
  // or the result of a search (?q=…).
  private static let table = """
    commoncrawl lines https://data.commoncrawl.org/crawl-data/{}.paths.gz base=https://data.commoncrawl.org/
    croissant json {} items=distribution[] url-field=contentUrl checksum-field=sha256 \
    container-field=containedIn|containedIn[]|containedIn.@id|containedIn[].@id
    ena tsv https://www.ebi.ac.uk/ena/portal/api/filereport?accession={}&result=read_run\
    &fields=fastq_ftp,fastq_md5,fastq_bytes&format=tsv base=https:// split=; \
    url-field=fastq_ftp checksum-field=fastq_md5 size-field=fastq_bytes
    esgf esgf {}
    gdc tsv https://api.gdc.cancer.gov/manifest/{} base=https://api.gdc.cancer.gov/data/ \
    url-field=id name-field=filename checksum-field=md5 size-field=size
    hf json https://huggingface.co/api/models/{}?blobs=true items=siblings[] \
    base=https://huggingface.co/{}/resolve/main/ \
    url-field=rfilename name-field=rfilename checksum-field=lfs.sha256 size-field=size
    hf-datasets json https://huggingface.co/api/datasets/{}?blobs=true items=siblings[] \
    base=https://huggingface.co/datasets/{}/resolve/main/ \
    url-field=rfilename name-field=rfilename checksum-field=lfs.sha256 size-field=size
    ia json https://archive.org/metadata/{} items=files[] base=https://archive.org/download/{}/ \
    url-field=name name-field=name checksum-field=sha1 size-field=size
    stac json {} items=assets.*|features[].assets.* next-field=links url-field=href \
    checksum-field=file:checksum size-field=file:size
    wikimedia json https://dumps.wikimedia.org/{}/dumpstatus.json items=jobs.*.files.* \
    base=https://dumps.wikimedia.org url-field=url checksum-field=sha1 size-field=size
    zenodo json https://zenodo.org/api/records/{} items=files[]|hits.hits[].files[] next-field=links.next \
    url-field=links.self name-field=key checksum-field=checksum size-field=size
    """

  /// Accessions of runs, experiments, samples and studies; ENA has those of NCBI and DDBJ, too.
  private static let accessions =
    """
    DRP DRR DRS DRX ERP ERR ERS ERX PRJDB PRJEB PRJNA SAMD SAMEA SAMN SRP SRR SRS SRX
    """.split(separator: " ")

  /// - Returns: `ena:SRR000001` for `SRR000001`, `zenodo:1` for `doi:10.5281/zenodo.1`; any other source unchanged.
  static func fullName(of source: String) -> String {
    let letters = source.prefix { $0.isASCII && $0.isLetter }
    let number = source[letters.endIndex...]
    if number.utf8.count < 16, number.utf8.count > 2, number.utf8.allSatisfy(\.isDigit) {
      return accessions.contains(letters) ? "ena:\(source)" : source
    }
    let names = [("hf:datasets/", "hf-datasets:"), ("doi:10.5281/zenodo.", "zenodo:"), ("sra:", "ena:")]
    let start = source.prefix(20).lowercased()
    guard let (short, name) = names.first(where: { start.hasPrefix($0.0) }) else { return source }
    return name + source.dropFirst(short.count)
  }

  /// Resolves `name:id`. `nil` if it may contain a secret, because it is remembered unchanged.
  static func named(by source: String) -> (preset: Preset, id: String, address: String)? {
    let parts = fullName(of: source).split(separator: ":", maxSplits: 1)
    // Most are web URLs.
    guard parts.count == 2, !parts[1].hasPrefix("//"), let preset = Preset(argument: String(parts[0])),
      Redaction.redactedAddress(source) == source
    else { return nil }
    return (preset, String(parts[1]), preset.list.replacing("{}", with: parts[1]))
  }

  /// - Parameters:
  ///   - given: the user's options, which have priority.
  ///   - id: `nil` for a list that is a file.
  func form(_ given: ListForm, id: String? = nil) -> ListForm {
    var form = given
    form.format = given.format ?? format
    form.items = given.items ?? options["items"]
    form.nextField = given.nextField ?? options["next-field"]
    var fields = given.fields
    for field in RowFields.Field.allCases where fields.names[field] == nil && options[field.option] != nil {
      fields.names[field] = options[field.option]
      fields.optional.insert(field)
    }
    fields.split = fields.split ?? options["split"]?.utf8.first
    let prefix = options["base"]?.replacing("{}", with: id ?? "{}")
    if given.base == nil, let prefix, !prefix.contains("{}") {
      fields.prefix = prefix
      if format == .lines { form.base = try? Address(prefix) }
    }
    form.fields = fields
    return form
  }
}

extension Preset: ExpressibleByArgument {
  init?(argument: String) {
    let line = Self.table.split(separator: "\n").first { $0.hasPrefix("\(argument) ") }
    guard let preset = line.flatMap({ Preset(String($0)) }) ?? Self.own.first(where: { $0.name == argument }) else {
      return nil
    }
    self = preset
  }

  static var allValueStrings: [String] {
    // By bytes, because each start of the program needs them for the help.
    table.utf8.split(separator: 0x0A).map { String(Substring($0.prefix { $0 != 0x20 })) }
  }
  var defaultValueDescription: String { name }
}
