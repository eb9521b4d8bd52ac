/// A line of a list that cannot be a request.
package struct Rejection: Sendable, Equatable {
  /// The list's file, or "standard input".
  package var list: String
  /// Counted from 1; nil when the failure is of the list itself.
  package var line: Int?
  /// The line as written, shortened, with credentials removed.
  package var text: String
  package var reason: Reason

  package enum Reason: Sendable, Equatable {
    case malformed(Address.Malformed)
    case notUTF8
    case tooLong
    /// A row, or what is to be made of it, is wrong.
    case row(String)
    /// What stands behind the address is no option of a line.
    case option(String)
    /// An earlier line asks for the same file with other header lines.
    case otherHeaders
    /// A third party's list gives a header line, named here, that it may not have sent to that server.
    case thirdPartyHeader(String)
    /// What the list says of the file, as `name=value`, cannot be used.
    case field(String)
    /// It is no line of that kind of list.
    case foreign(to: String)
    case unreadable(errno: Int32)
    /// The list at an address could not be fetched.
    case unfetched(DownloadError)
    /// The list's compressed data is damaged from that line on.
    case damaged(String)
    /// It is no list at all, or not from there on.
    case noList(NoList)
  }

  package enum NoList: Error, Equatable {
    case binary
    /// HTML.
    case page
    /// XML of another kind, by its root.
    case markup(String)
    /// Of a kind that is read with a library that is not installed.
    case noLibrary(String, for: String)
    /// Compressed so that it takes much memory to read.
    case heavy
    /// A text, perhaps a list, in an encoding that is not UTF-8.
    case utf16
    /// So many lines that are no addresses.
    case lines(Int)
    /// `--accept` matches no link of a page; the first links to files are named.
    case unmatched([String])
    /// Its names or addresses are relative, and nothing says to what.
    case noBase
    /// Its checksums are of an algorithm that dlm does not know.
    case checksums(String)
    /// No field is the one that the option named, or that holds URLs; or several may be.
    case field(String?, among: [String], option: String = "url-field")
  }

  /// Whether it is of a list that the next run may get.
  package var mayPass: Bool { if case .unfetched(let why) = reason { why.mayPass } else { false } }

  /// Whether the list itself could not be read to its end.
  package var isOfList: Bool {
    switch reason {
    case .unreadable, .unfetched, .damaged, .noList: true
    case .malformed, .notUTF8, .tooLong, .row, .option, .otherHeaders, .thirdPartyHeader, .field, .foreign: false
    }
  }

  package init(list: String, line: Int?, text: String, reason: Reason) {
    self.list = list
    self.line = line
    self.text = text
    self.reason = reason
  }
}
