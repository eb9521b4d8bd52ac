import ArgumentParser

/// The format of a list (`--list-format`).
enum ListFormat: String, Choice {
  /// `lines` has one URL a line; `html` is the links of a page; `xml` is Metalink, sitemap, RSS or Atom; `esgf` is a
  /// wget script of the Earth System Grid Federation.
  case apt, aria2, bagit, checksums, csv, esgf, html, json, lines, s5cmd, tsv, xml
}

struct ListEntry {
  /// Counted from 1.
  let line: Int
  let content: ListLine
  /// Replaces its content; `nil` for most lines.
  var ranges: URLRanges? = nil
}
