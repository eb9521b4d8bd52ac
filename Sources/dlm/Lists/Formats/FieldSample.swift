import DownloadModel

/// A field of a table's first rows, or of JSON's first item. Its name and its values show its purpose.
struct FieldSample {
  /// A column's name, or a path below the item.
  let name: String
  /// Without absent values.
  let values: [String]

  init(_ name: String, _ values: [ArraySlice<UInt8>]) {
    self.name = name
    self.values = values.filter { !RowFields.isAbsent($0) }.map { String(utf8: $0) }
  }

  // MARK: URLs

  /// Common names of URL fields; if several match, the first wins.
  private static let urlNames = [
    "download_url", "downloadurl", "browser_download_url", "file_url", "contenturl", "fastq_ftp", "url", "uri", "href",
    "link",
  ]

  static func isKnown(_ name: String) -> Bool { urlNames.contains(lastStep(of: name)) }

  private static func lastStep(of name: String) -> String { (name.split(separator: ".").last ?? "").lowercased() }

  private var holdsURLs: Bool { !values.isEmpty && values.allSatisfy { (try? Address($0)) != nil } }
  private var mayHoldURLs: Bool {
    values.allSatisfy { value in !value.contains(" ") && value.contains { "./".contains($0) } }
  }

  /// - Returns: the field of URLs; `nil` if no field contains URLs.
  /// - Throws: the candidates, if several do.
  static func urls(of samples: [FieldSample]) throws(Rejection.NoList) -> FieldSample? {
    let held = samples.filter(\.holdsURLs)
    let known = urlNames.flatMap { name in samples.filter { lastStep(of: $0.name) == name } }
    if let best = known.first(where: \.holdsURLs) ?? known.first(where: \.mayHoldURLs) { return best }
    if held.count > 1 { throw .field(nil, among: held.map(\.name)) }
    return held.first
  }

  // MARK: Checksums and sizes

  private static let sumNames = ["multihash", "checksum", "chksum", "cksum", "digest", "shasum", "hash", "sum"]
  private static let sizeNames = [
    "sizeinbytes", "sizebytes", "bytesize", "contentlength", "contentsize", "filesize", "size", "bytes",
  ]
  /// Digests of these algorithms look like others.
  private static let otherSums = ["blake", "b2sum", "sha3", "sm3", "md4", "ripemd", "tiger"]
  /// Names whose values look like checksums but are not of the file's bytes: GitHub's `sha` names a Git object.
  private static let identifiers = ["id", "key", "sha", "commit", "rev", "revision", "ref", "tag", "token", "version"]
  /// Words that may remain in the name of a checksum or size field.
  private static let plainWords = ["", "file", "content", "data", "download", "expected"]

  /// The last step of the name, only letters and digits.
  private static func squeezed(_ name: String) -> String {
    lastStep(of: name).filter { $0.isLetter || $0.isNumber }
  }

  /// - Returns: true if the name refers to the files of `url`, false if it names no checksum or size, `nil` if it
  ///   refers to something else.
  private func fits(_ words: [String], _ url: String) -> Bool? {
    let name = Self.squeezed(name)
    let rest = words.reduce(name) { $0.replacing($1, with: "") }
    if rest == name { return false }
    return Self.plainWords.contains(rest) || Self.squeezed(url).hasPrefix(rest) ? true : nil
  }

  /// Whether both belong to one object, or one belongs to an object that contains the other's.
  private func isBeside(_ url: String) -> Bool {
    let own = name.split(separator: ".").dropLast()
    let others = url.split(separator: ".").dropLast()
    return zip(own, others).allSatisfy { $0 == $1 }
  }

  /// - Returns: the algorithm of the field's checksums, and whether all its values are checksums; `nil` if none is.
  private var checksums: (algorithm: ContentDigest.Algorithm, areAll: Bool)? {
    let name = Self.squeezed(name)
    let named = ContentDigest.Algorithm.allCases.first { name.contains($0.rawValue) }
    if named == nil, Self.otherSums.contains(where: name.contains) { return nil }
    let texts = values.flatMap { $0.split(separator: ";") }
    let found = texts.compactMap { ContentDigest($0)?.algorithm }.filter { $0 == named ?? $0 }
    return found.first.map { ($0, found.count == texts.count) }
  }

  /// - Returns: the checksum field of `url`'s files, the strongest one if names identify several.
  static func checksums(of samples: [FieldSample], beside url: String) -> FieldSample? {
    let words = ContentDigest.Algorithm.allCases.map(\.rawValue) + sumNames
    let all = samples.compactMap { sample -> (sample: FieldSample, rank: Int)? in
      guard sample.name != url, sample.isBeside(url), let (algorithm, areAll) = sample.checksums,
        let fits = sample.fits(words, url),
        fits || areAll && !identifiers.contains(where: squeezed(sample.name).hasSuffix)
      else { return nil }
      return (sample, fits ? algorithm.length : 0)
    }
    // Identified by its values alone only as the single candidate.
    guard let best = all.max(by: { $0.rank < $1.rank }), best.rank > 0 || all.count == 1 else { return nil }
    return best.sample
  }

  /// - Returns: the size field of `url`'s files.
  static func sizes(of samples: [FieldSample], beside url: String) -> FieldSample? {
    samples.first { sample in
      let numbers = sample.values.flatMap { $0.split(separator: ";") }.map { Int64($0) ?? -1 }
      return sample.fits(sizeNames, url) == true && sample.isBeside(url) && numbers.contains { $0 > 0 }
        && numbers.allSatisfy { $0 >= 0 }
    }
  }
}
