import DownloadModel

/// What becomes of a body's content coding. dlm asks for none (`Accept-Encoding: identity`), and what the user wants is the
/// file (http.md 35).
enum CodedBody: Equatable {
  /// There is none.
  case plain
  /// It is taken off as the body comes.
  case decode
  /// The body is written as it comes: the coding is what the file is by its name or type, as in `backup.tar.gz`, or dlm
  /// does not know it.
  case keep

  /// - Parameter name: what the file will be called.
  static func decide(_ head: ResponseHead, name: @autoclosure () -> String) -> CodedBody {
    switch head.bodyCoding {
    case .none: return .plain
    case .unknown: return .keep
    case .known where head.status == 204: return .plain
    case .known(let codings):
      guard codings.count == 1, let coding = codings.first else { return .decode }
      // Compressed on the fly, a file that is compressed already is so twice: one of them is the server's.
      if EntityTag.namesCoding(head["etag"]) { return .decode }
      return isCoded(coding, name: name()) || isCoded(coding, mediaType: head["content-type"])
        ? .keep : .decode
    }
  }

  private static func isCoded(_ coding: ContentCoding, name: String) -> Bool {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
    let ending = name[name.utf8.index(after: dot)...].lowercased()
    return switch coding {
    case .gzip: ["gz", "gzip", "tgz", "taz", "tpz", "svgz", "bgz", "adz", "cpgz", "emz"].contains(ending)
    case .deflate: ["zz", "zlib", "deflate"].contains(ending)
    case .brotli: ["br", "tbr"].contains(ending)
    }
  }

  private static func isCoded(_ coding: ContentCoding, mediaType field: String?) -> Bool {
    guard let field else { return false }
    let type = field.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased()
    return switch coding {
    case .gzip:
      [
        "application/gzip", "application/x-gzip", "application/x-gunzip", "application/gzipped",
        "application/gzip-compressed", "application/x-tgz", "application/x-gtar-compressed",
        "application/x-compressed-tar",
      ].contains(type)
    case .deflate: ["application/zlib", "application/x-zlib"].contains(type)
    case .brotli: ["application/brotli", "application/x-brotli", "application/x-br"].contains(type)
    }
  }
}
