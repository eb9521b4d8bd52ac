/// A line of a list that cannot be a request.
package struct Rejection: Sendable, Equatable {
  /// The list's file, or "standard input".
  package var list: String
  /// Counted from 1; `nil` if the failure is of the list itself.
  package var line: Int?
  /// The line as written, shortened, with credentials removed.
  package var text: String
  package var reason: Reason

  package enum Reason: Sendable, Equatable {
    case malformed(Address.Malformed)
    case notUTF8
    case tooLong
    /// A row, or its conversion to a request, is wrong.
    case row(String)
    /// The text behind the URL is not an option of a line.
    case option(String)
    /// An earlier line requests the same file with other header lines.
    case otherHeaders
    /// A third-party list gives a header line, named here, that must not be sent to that server.
    case thirdPartyHeader(String)
    /// A third-party list names a server to which the user's own login would be shown, by this scheme.
    case thirdPartyScheme(String)
    /// A property of the file in the list, as `name=value`, cannot be used.
    case field(String)
    /// It is not a line of that kind of list.
    case foreign(to: String)
    case unreadable(errno: Int32)
    /// The list at a URL could not be downloaded.
    case unfetched(DownloadError)
    /// The list cannot be read from that line on: its compressed data, JSON, XML or CSV is damaged.
    case damaged(String)
    /// It is not a list, from the start or from there on.
    case noList(NoList)
  }

  package enum NoList: Error, Equatable {
    case binary
    /// HTML.
    case page
    /// XML of another kind, identified by its root element.
    case markup(String)
    /// A kind that needs a library that is not installed.
    case noLibrary(String, for: String)
    /// Compressed so that reading it takes much memory.
    case heavy
    /// A text, perhaps a list, in UTF-16.
    case utf16
    /// This many lines that are no URLs.
    case lines(Int)
    /// `--accept` matches no link of a page; the value has the first links to files.
    case unmatched([String])
    /// Its names or URLs are relative, and their base is unknown.
    case noBase
    /// Its checksums use an algorithm that dlm does not support.
    case checksums(String)
    /// No field has the name in the option, or contains URLs; or several may.
    case field(String?, among: [String], option: String = "url-field")
  }

  /// Whether the next run may be able to download its list.
  package var mayPass: Bool { if case .unfetched(let why) = reason { why.mayPass } else { false } }

  /// Whether the list itself could not be read to its end.
  package var isOfList: Bool {
    switch reason {
    case .unreadable, .unfetched, .damaged, .noList: true
    default: false
    }
  }

  package init(list: String, line: Int?, text: String, reason: Reason) {
    self.list = list
    self.line = line
    self.text = text
    self.reason = reason
  }
}
