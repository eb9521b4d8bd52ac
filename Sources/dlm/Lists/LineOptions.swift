import DownloadModel

/// What a line of a list says of its address, behind it and a tab each: `first=yes`, `size=12M`, `by=stranger`.
///
/// A tab, since blanks may be part of an address.
struct LineOptions: Equatable {
  /// Whether it goes first; nil for what `--first` says.
  var isFirst: Bool?
  /// Its length in bytes, for `--order`.
  var size: Int64?
  /// Who named it first, in a list of what failed: a list at an address.
  var provenance: Provenance?

  /// What is no option.
  struct Unknown: Error, Equatable {
    let text: String
  }

  init(isFirst: Bool? = nil, size: Int64? = nil, provenance: Provenance? = nil) {
    (self.isFirst, self.size, self.provenance) = (isFirst, size, provenance)
  }

  /// - Parameter text: what follows the address's tab.
  init(_ text: String) throws(Unknown) {
    for word in text.split(separator: "\t") {
      let option = word.split(separator: "=", maxSplits: 1).map(String.init)
      switch (option.first, option.count == 2 ? option[1] : "") {
      case ("first", let value):
        guard !value.isEmpty, let isFirst = YesOrNo(argument: value)?.isOn else { throw Unknown(text: String(word)) }
        self.isFirst = isFirst
      case ("size", let value):
        guard let size = ByteCount(argument: value)?.bytes else { throw Unknown(text: String(word)) }
        self.size = size
      case ("by", let value):
        guard let provenance = Provenance(rawValue: value) else { throw Unknown(text: String(word)) }
        self.provenance = provenance
      default: throw Unknown(text: String(word))
      }
    }
  }

  /// As a line has them; empty for none.
  var text: String {
    (isFirst.map { $0 ? "\tfirst=yes" : "\tfirst=no" } ?? "") + (size.map { "\tsize=\($0)" } ?? "")
      + (provenance.map { "\tby=\($0.rawValue)" } ?? "")
  }
}
