import ArgumentParser
import DownloadModel
import FileReceiving

/// What a list is written in (`--list-format`).
enum ListFormat: String, Choice {
  /// Lines are of an address each; html is the links of a page, xml Metalink, sitemap, RSS or Atom.
  case apt, aria2, bagit, checksums, csv, html, json, lines, s5cmd, text, tsv, xml
}

struct ListEntry {
  /// Counted from 1.
  let line: Int
  let content: ListLine
  /// What it stands for in place of its content; nil for most.
  var ranges: URLRanges? = nil
}
