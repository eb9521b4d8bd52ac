import DownloadModel
import TestSupport
import Testing

@testable import FileReceiving

@Suite("A Content-Encoding that nobody asked for is taken off, or is the file's own (HTTP rule 35)")
struct CodedBodyTests {
  @Test(
    arguments: [
      (nil, "f.html", nil, nil, CodedBody.plain), ("identity", "f.html", nil, nil, .plain),
      ("", "f.gz", nil, nil, .plain), ("gzip", "f.html", nil, nil, .decode), ("GZip", "f", nil, nil, .decode),
      ("x-gzip", "f.html", "text/html", nil, .decode), ("deflate", "f.js", nil, nil, .decode),
      ("br", "f.css", nil, nil, .decode), ("gzip, br", "f.css", nil, nil, .decode),
      ("identity, gzip", "f.css", nil, nil, .decode),
      // What the file is.
      ("gzip", "f.tar.gz", nil, nil, .keep), ("x-gzip", "f.TGZ", "application/x-tar", nil, .keep),
      ("gzip", "drawing.svgz", "image/svg+xml", nil, .keep), ("gzip", "f", "application/gzip", nil, .keep),
      ("gzip", "f", "application/x-gzip; x=y", nil, .keep), ("br", "f.js.br", nil, nil, .keep),
      // Another coding than the file's.
      ("br", "f.tar.gz", nil, nil, .decode), ("gzip", "f.js.br", nil, nil, .decode),
      ("gzip", "gz", nil, nil, .decode),
      // Once: a label, whatever the tag says.
      ("gzip", "f.tar.gz", "application/gzip", "\"1-gzip\"", .keep),
      ("gzip", "f.tar.gz", "application/gzip", "\"1\"", .keep),
      // What dlm does not know, and what is none at all.
      ("zstd", "f.html", nil, nil, .keep), ("compress", "f.Z", nil, nil, .keep),
      ("utf-8", "f", nil, nil, .keep),
      ("gzip, aws-chunked", "f", nil, nil, .keep),
      // However many there are, one is taken off.
      ("gzip,gzip,gzip,gzip", "f", nil, nil, .decode),
    ] as [(String?, String, String?, String?, CodedBody)])
  func decision(coding: String?, name: String, type: String?, etag: String?, expected: CodedBody) {
    let fields = [("Content-Encoding", coding), ("Content-Type", type), ("ETag", etag)]
    let block = fields.compactMap { field in field.1.map { "\(field.0): \($0)\r\n" } }.joined()
    let head = ResponseHead(status: 200, block: Array(block.utf8))
    #expect(CodedBody.decide(head, name: name) == expected)
  }

  /// What the first bytes show counts before the name (HTTP rule 35).
  @Test(
    arguments: [
      ("gzip", "f.html", .absent, .keep), ("gzip", "f.tar.gz", .twice, .decode), ("gzip", "f.tar.gz", .once, .keep),
      ("gzip", "f.html", .once, .decode), ("br", "f.js", .absent, .keep), ("gzip", "f", .twice, .decode),
      ("zstd", "f", .twice, .keep),
    ] as [(String, String, ResponseHead.SeenCoding, CodedBody)])
  func bytes(coding: String, name: String, seen: ResponseHead.SeenCoding, expected: CodedBody) {
    var head = ResponseHead(status: 200, block: Array("Content-Encoding: \(coding)\r\nETag: \"1\"\r\n".utf8))
    head.seenCoding = seen
    #expect(CodedBody.decide(head, name: name) == expected)
  }

  @Test(arguments: [
    ("\"5f3-gzip\"", "\"5f3\""), ("\"5f3--gzip\"", "\"5f3\""), ("\"5f3;gzip\"", "\"5f3\""),
    ("\"5f3:gzip\"", "\"5f3\""), ("\"5f3-br\"", "\"5f3\""), ("\"5f3-deflate\"", "\"5f3\""),
    ("\"5f3-zstd\"", "\"5f3\""), ("W/\"5f3-gzip\"", "W/\"5f3\""), ("\"5f3\"", "\"5f3\""),
    ("\"gzip\"", "\"gzip\""), ("\"-gzip\"", "\"-gzip\""), ("\"--gzip\"", "\"--gzip\""),
    ("\"xgzip\"", "\"xgzip\""), ("5f3-gzip", "5f3-gzip"), ("", ""), ("\"", "\""), ("\"\"", "\"\""),
    ("W/\"-br\"", "W/\"-br\""),
  ])
  func uncodedTag(tag: String, expected: String) { #expect(EntityTag.uncoded(tag) == expected) }

  private static let now: Int64 = 1_800_000_000

  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed, 31 Dec 1969 23:59:59 GMT", nil),
      ("Mon, 01 Jan 1900 00:00:00 GMT", nil), ("Fri, 31 Dec 9999 23:59:59 GMT", nil), ("0", nil), (nil, nil),
      ("", nil), ("Fri, 15 Jan 2027 08:00:00 GMT", now), ("Sat, 16 Jan 2027 07:00:00 GMT", now + 82_800),
      ("Sat, 16 Jan 2027 09:00:00 GMT", nil),
    ] as [(String?, Int64?)])
  func remoteTime(field: String?, expected: Int64?) {
    #expect(RemoteTime.seconds(field, now: Self.now) == expected)
  }
}
