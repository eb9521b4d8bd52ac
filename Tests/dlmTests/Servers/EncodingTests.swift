import DownloadModel
import TestSupport
import Testing

/// Apache with `force-gzip` put 106 bytes of gzip under `f08.html` without a word, blamed the server's owner
/// for the plain file's checksum, and a second run fetched 52 of 60 files again.
@Suite("A Content-Encoding that nobody asked for is taken off (HTTP rule 35)")
struct EncodingTests {
  private static let forced = [
    "<Directory \"root\">", "SetOutputFilter DEFLATE", "SetEnv force-gzip 1", "</Directory>",
    "AddType text/html .html", "CustomLog access.log seen",
  ]

  private static func page(_ index: Int) -> [UInt8] {
    Array(
      String(repeating: "<p>Page \(index) of many, all of them much alike.</p>\n", count: index * 40 + 40)
        .utf8
    )
  }

  private static func apache() async throws -> LoopbackServer {
    let folder = try TemporaryFolder()
    let lines = forced.map { $0.replacing("\"root\"", with: "\"\(folder.path("root"))\"") }
    return try await .apache(modules: ["filter", "deflate", "env"], lines: lines, folder: folder)
  }

  @Test func apachesForcedGzip() async throws {
    let server = try await Self.apache()
    defer { server.stop() }
    for index in 0..<60 { try server.serve(Self.page(index), as: "f\(index).html") }
    let place = try Workplace()
    _ = try place.list((0..<60).map { server.url("/f\($0).html") })
    let sums = try await CommandRun.result(
      of: "/bin/sh", ["-c", "cd root && sha256sum *.html"], folder: server.folder.path)
    try place.folder.write(sums.output, to: "work/SUMS")

    let first = try await place.dlm("get", "urls.txt", "-d", "out", "--checksums", "SUMS")
    #expect(first.status == 0, "\(first.errorText)")
    for index in 0..<60 { #expect(try place.file("out/f\(index).html") == Self.page(index), "\(index)") }
    #expect(first.errorText.contains("60 verified by checksum"), "\(first.errorText)")
    #expect(first.errorText.contains("60 decompressed"), "\(first.errorText)")
    #expect(try place.names(in: "out").count == 60)

    // Apache notes requests of its own as well, by which it wakes its processes; and what waits for a process
    // to be started may be asked again over a connection that has one.
    func pages(_ status: String) throws -> Set<Substring> {
      let log = String(decoding: try server.folder.read("access.log"), as: UTF8.self)
      let lines = log.split(separator: "\n").filter { $0.contains(".html") && $0.hasPrefix(status) }
      return Set(lines.compactMap { line in line.split(separator: " ").first { $0.contains(".html") } })
    }
    #expect(try pages("200").count == 60, "\(first.errorText)")
    // Without the checksums, which would answer by themselves.
    let second = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(second.status == 0, "\(second.errorText)")
    #expect(second.errorText.contains("up to date: 60 files"), "\(second.errorText)")
    #expect(try pages("304").count == 60)
  }

  /// What is compressed by its name stays so: also where Apache compresses it once more, the file is the
  /// server's.
  @Test func compressedFilesStayCompressed() async throws {
    let server = try await Self.apache()
    defer { server.stop() }
    try server.serve(CodedSample.gzip, as: "backup.tar.gz")
    let place = try Workplace()
    let run = try await place.dlm("get", server.url("/backup.tar.gz"), "-v")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("backup.tar.gz") == CodedSample.gzip)
  }

  @Test(arguments: ["backup.tar.gz", "drawing.svgz", "download"])
  func theFilesOwnCodingIsKept(name: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    var options = FileOptions(headers: ["Content-Encoding: x-gzip"])
    if name == "download" { options.headers.append("Content-Type: application/gzip") }
    origin.route("/\(name)", .file(CodedSample.gzip, options))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/\(name)"), "-v")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file(name) == CodedSample.gzip)
    #expect(run.errorText.contains("still-coded"), "\(run.errorText)")
    #expect(try await place.dlm("get", origin.url("/\(name)")).errorText.contains("up to date: 1 file"))
  }

  @Test(arguments: [
    ("br", CodedSample.brotli), ("gzip", CodedSample.gzip), ("deflate", CodedSample.zlib),
    ("deflate", CodedSample.bareDeflate),
  ])
  func codings(coding: String, body: [UInt8]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let framings: [FileOptions.Framing] = [.contentLength, .chunked(size: 33), .closeDelimited]
    for (index, framing) in framings.enumerated() {
      origin.route(
        "/f\(index).html",
        .file(
          body,
          FileOptions(etag: "\"1-\(coding)\"", framing: framing, headers: ["Content-Encoding: \(coding)"])))
    }
    let place = try Workplace()
    let list = try place.list(framings.indices.map { origin.url("/f\($0).html") })
    let run = try await place.dlm("get", list, "-v")
    #expect(run.status == 0, "\(run.errorText)")
    for index in framings.indices { #expect(try place.file("f\(index).html") == CodedSample.plain) }
    #expect(run.errorText.contains("remark=decoded"), "\(run.errorText)")
    #expect(try await place.dlm("get", list).errorText.contains("unchanged"))
  }

  /// gallery-dl#2267: curl and wget keep the bytes too. One request, whatever the pieces in which they come.
  @Test(arguments: ["gzip", "deflate", "br"])
  func bytesThatAreNotCoded(coding: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let framings: [FileOptions.Framing] = [.contentLength, .chunked(size: 300), .closeDelimited]
    for (index, framing) in framings.enumerated() {
      let options = FileOptions(etag: "\"1\"", framing: framing, headers: ["Content-Encoding: \(coding)"])
      origin.route("/f\(index).html", .file(CodedSample.plain, options))
    }
    let place = try Workplace()
    let list = try place.list(framings.indices.map { origin.url("/f\($0).html") })
    let run = try await place.dlm("get", list, "-v", "-j", "1")
    #expect(run.status == 0, "\(run.errorText)")
    for index in framings.indices { #expect(try place.file("f\(index).html") == CodedSample.plain) }
    #expect(run.errorText.contains("remark=not-coded"), "\(run.errorText)")
    #expect(run.errorText.contains("3 not compressed, though their Content-Encoding says so"), "\(run.errorText)")
    // The end of the last body proves nothing, so that the server is asked for more.
    #expect(origin.log.count { $0.path != "/f2.html" } == 2, "\(run.errorText)")
    #expect(try await place.dlm("get", list).errorText.contains("unchanged"))
  }

  /// librepo#253: a .tar.gz that a proxy compresses once more loses that layer, so that its checksum fits.
  @Test(arguments: [1, 100_000])
  func aCompressedFileCompressedOnceMore(piece: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let twice = try await CommandRun.result(of: "gzip", ["-c"], input: CodedSample.gzip).output
    var options = FileOptions(etag: "\"strong\"", headers: ["Content-Encoding: gzip"])
    options.framing = .chunked(size: piece)
    origin.route("/backup.tar.gz", .file(twice, options))
    let place = try Workplace()
    let sum = "sha256:\(ContentHasher.digest(of: CodedSample.gzip).hex)"
    let run = try await place.dlm("get", origin.url("/backup.tar.gz"), "--checksum", sum)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("backup.tar.gz") == CodedSample.gzip)
  }

  /// A cut that its framing does not show, and damage: nothing of it gets the final name.
  @Test func cutsAndDamageFail() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let coded = FileOptions(headers: ["Content-Encoding: gzip"])
    var chunked = coded
    chunked.framing = .chunked(size: 50)
    origin.route("/cut", .file(Array(CodedSample.gzip.dropLast(20)), coded))
    origin.route("/cut-chunked", .file(Array(CodedSample.gzip.prefix(100)), chunked))
    origin.route("/tail", .file(CodedSample.gzip + [1, 2, 3], coded))
    origin.route("/once", .file(Array(CodedSample.gzip.prefix(100)), coded), .file(CodedSample.gzip, coded))
    let place = try Workplace()
    let paths = ["cut", "cut-chunked", "tail"]
    let list = try place.list(paths.map { origin.url("/\($0)") })
    let run = try await place.dlm("get", list, "--retries", "0")
    #expect(run.status == 75, "\(run.errorText)")
    for path in paths { #expect(run.errorText.contains(origin.url("/\(path)")), "\(run.errorText)") }
    #expect(try place.names() == ["urls.txt"])
    let again = try await place.dlm("get", origin.url("/once"), "--retries", "1")
    #expect(again.status == 0, "\(again.errorText)")
    #expect(try place.file("once") == CodedSample.plain)
  }

  /// Two layers and three, in 269 and 289 bytes: one is taken off, as nobody asked for more.
  @Test func oneLayer() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/two", .file(CodedSample.bomb, FileOptions(headers: ["Content-Encoding: gzip, gzip"])))
    let place = try Workplace()
    let run = try await place.dlm("get", "-v", origin.url("/two"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("still-coded"), "\(run.errorText)")
    let inner = try await CommandRun.result(of: "gzip", ["-dc"], input: CodedSample.bomb)
    #expect(try place.file("two") == inner.output)
  }

  /// A bomb is one file's failure, of which nothing stays; the others come.
  @Test func aBombIsBounded() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let made = try await CommandRun.result(of: "sh", ["-c", "head -c 8M /dev/zero | gzip -9"])
    let bomb = Array(repeatElement(made.output, count: 32).joined())
    origin.route("/bomb", .file(bomb, FileOptions(headers: ["Content-Encoding: gzip"])))
    origin.route("/f", .file([1]))
    let place = try Workplace()
    let bounded = try await place.dlm("get", origin.url("/bomb"), "--max-filesize", "1M")
    #expect(bounded.status == 1 && bounded.errorText.contains("--max-filesize"), "\(bounded.errorText)")
    let run = try await place.dlm("get", origin.url("/bomb"), origin.url("/f"))
    #expect(run.status == 1, "\(run.errorText)")
    #expect(
      run.errorText.contains("200 times as long") && run.errorText.contains(origin.url("/bomb")),
      "\(run.errorText)")
    #expect(try place.names() == ["f"])
    #expect(origin.record.requests(to: "/bomb").count == 2, "it is not tried again")
  }

  /// A whole file may be empty. A range has a byte, so that one without any was cut short.
  @Test func aCodedRangeWithoutAByte() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let head = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-99/100\r\nContent-Encoding: gzip\r\n"
    origin.route("/f", .raw(Array("\(head)Content-Length: 0\r\n\r\n".utf8)))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), "--retries", "0")
    #expect(run.status == 75, "\(run.errorText)")
    #expect(try place.names().isEmpty)
  }

  /// A range of what the server sends is none of what stands here: interrupted, a coded file starts over.
  @Test func whatWasDecodedIsNotResumed() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let coded = FileOptions(headers: ["Content-Encoding: gzip"])
    var cut = coded
    cut.ending = .close(after: 200)
    origin.route("/f.html", .file(CodedSample.gzip, cut), .file(CodedSample.gzip, coded))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f.html"), "--retries", "0").status == 75)
    #expect(try place.names().isEmpty)
    #expect(try await place.dlm("get", origin.url("/f.html")).status == 0)
    #expect(origin.log.allSatisfy { $0.headers["range"] == nil })
    #expect(try place.file("f.html") == CodedSample.plain)
  }

  /// RFC 9530: a server's Repr-Digest is of what it sent, not of what was made of it.
  @Test func theServersDigestIsOfTheCodedBytes() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let digest = "Repr-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
    origin.route("/f", .file(CodedSample.gzip, FileOptions(headers: ["Content-Encoding: gzip", digest])))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "--retries", "0").status == 0)
    #expect(try place.file("f") == CodedSample.plain)
  }
}
