import DownloadModel
import FileReceiving
import TestSupport
import Testing

@testable import dlm

@Suite("Each failure has its whole message, with a remedy that fits it")
struct FailureMessagesTests {
  private static func status(
    _ status: Int, _ activity: String = "", retryAfter: Duration? = nil
  ) -> DownloadError {
    .init(
      .status, cause: .http(status: status), address: "https://h/f", activity: activity, isTransient: retryAfter != nil,
      retryAfter: retryAfter)
  }

  private static let saved = "run the same command again: what can be resumed is saved"

  private static let rows: [(DownloadError, String)] = [
    (.cancelled, "cancelled"),
    (.skipped, "skipped by you; \(saved)"),
    (
      .init(.resolve, cause: .curl(code: 6, message: "Could not resolve host: h")),
      "the host was not found; check the host's spelling, and this machine's network"
    ),
    (
      .init(.connect, cause: .curl(code: 7, message: "Connection refused")),
      "cannot connect to the server: Connection refused; check that the server is up, and the port"
    ),
    (
      .init(.tls, cause: .curl(code: 35, message: "OpenSSL/3: error:0A:SSL routines::wrong version number")),
      "no secure connection: wrong version number; check that this is an https server, and the port"
    ),
    (
      .init(.certificate, cause: .certificate(.selfSigned, message: "")),
      "the server's certificate is self-signed; if you trust it, name it with --cacert FILE; --insecure skips this check"
    ),
    (
      .init(.clientCertificate),
      "your certificate was refused, is missing, or cannot be used; check --cert, --key and the pass phrase, and that "
        + "the server knows the certificate"
    ),
    (
      .init(.pinnedKey),
      "the server's key is not the pinned one; ask the server's owner before you change --pinnedpubkey: the connection "
        + "may be intercepted"
    ),
    (
      .init(.hostKey, cause: .hostKey(.unknown, fingerprint: "ssh-ed25519 SHA256:x"), address: "sftp://h:2222/f"),
      "the server's key is not known: ssh-ed25519 SHA256:x; compare it with what the server's owner says; then accept "
        + "it: ssh -p 2222 h, or ssh-keyscan -p 2222 h >> ~/.ssh/known_hosts"
    ),
    (
      .init(.hostKey, cause: .hostKey(.changed, fingerprint: "ssh-ed25519 SHA256:x"), address: "sftp://h/f"),
      "the server's key HAS CHANGED: ssh-ed25519 SHA256:x; another server may be answering. Ask the server's owner; if "
        + "the new key is right: ssh-keygen -R h"
    ),
    (
      .init(.hostKey, cause: .hostKey(.revoked, fingerprint: "ssh-ed25519 SHA256:x"), address: "sftp://h/f"),
      "the server's key was revoked: ssh-ed25519 SHA256:x; do not trust this server"
    ),
    (
      .init(.status, cause: .reply(code: 550, text: "No such file")),
      "550 No such file; check the URL, and that the login may read the file"
    ),
    (
      .init(.status, cause: .reply(code: 421, text: "Too many"), isTransient: true, wasTurnedAway: true),
      "421 Too many; the server is busy: try again later, or with fewer --jobs"
    ),
    (
      .init(.proxy, cause: .proxy(ProxyRefusal(proxy: "http://p:1", hadLogin: false, answer: .login))),
      "the proxy http://p:1 requires a login; put user and password before the host in its URL (--proxy or DLM_PROXY)"
    ),
    (.init(.timeout), "connecting took too long; try again later, or allow more time with --connect-timeout"),
    (.init(.unanswered), "the server did not answer; try again later, or with fewer --jobs"),
    (.init(.stalled), "the transfer stalled; \(saved)"),
    (.init(.reset), "the server closed the connection; \(saved)"),
    (.init(.shortBody, "3 of 9 bytes", "receiving"), "the file was cut short: 3 of 9 bytes; \(saved)"),
    (
      .init(.shortBody, "3 of 9 bytes", "decoding"),
      "the file was cut short: 3 of 9 bytes; run the same command again: a compressed transfer starts over"
    ),
    (
      .init(.longBody),
      "the server sent more than it announced; check the URL; if it is right, tell the server's owner"
    ),
    (
      .init(.range),
      "the server sent a different range than requested; check the URL; if it is right, tell the server's owner"
    ),
    (.init(.badResponse), "the server's answer is invalid; check the URL; if it is right, tell the server's owner"),
    (.init(.badAddress), "not a usable URL; a URL looks like https://host/path"),
    (
      .init(.redirect, "more than 20 in a row", ""),
      "a redirect was refused: more than 20 in a row; they form a loop: tell the server's owner"
    ),
    (
      .init(.redirect, "from https to http://h/", ""),
      "a redirect was refused: from https to http://h/; others can read and change http; if you trust it, download "
        + "that URL instead"
    ),
    (status(404), "404 Not Found; check the URL"),
    (status(410), "410 Gone; check the URL"),
    (status(403), "403 Forbidden; access denied: a login or a header may be missing"),
    (status(401), "401 Unauthorized; the server requires a login: give one with --netrc-file or --header"),
    (
      status(401, DownloadError.loggingIn),
      "401 Unauthorized: the login was refused; check user, password or token (--netrc, --netrc-file, --header, or the "
        + "URL)"
    ),
    (
      status(401, ResponseHead.missingToken),
      "401 Unauthorized; the server requires a token: --header 'Authorization: Bearer TOKEN'"
    ),
    (
      status(407),
      "407 Proxy Authentication Required; a proxy on the way requires a login: name the proxy with --proxy"
    ),
    (status(429), "429 Too Many Requests; the server is busy: try again later, or with fewer --jobs"),
    (
      status(429, retryAfter: .seconds(3600)),
      "429 Too Many Requests; the server asks clients to wait 1 h 00 min: try again then"
    ),
    (status(526), "status 526; the server has a problem: try again later"),
    (
      status(451),
      "451 Unavailable For Legal Reasons; the server does not provide this: check the URL, or ask its owner"
    ),
    (
      .init(.tooLarge, "9 bytes, at most 5 are allowed", ""),
      "the file is too large: 9 bytes, at most 5 are allowed; allow more with --max-filesize"
    ),
    (
      .init(.tooSlow),
      "the transfer was too slow; what can be resumed is saved: run the same command again, or allow less with --min-rate"
    ),
    (
      .init(.tookTooLong),
      "the file took too long; what can be resumed is saved: run the same command again, or allow more with --max-time"
    ),
    (
      .init(.wrongType, "expected image/*, got text/html", ""),
      "unexpected file type: expected image/*, got text/html; open the URL in a browser; to accept any type, leave out "
        + "--expect (or expect= of its line)"
    ),
    (
      .init(.wrongSize, "expected 9 bytes, got 5", ""),
      "size mismatch: expected 9 bytes, got 5; check the size in the list; the server's file may have changed, or be an "
        + "error page"
    ),
    (
      .init(.digest, cause: .detail("expected md5:0, got md5:1"), path: "a.rejected"),
      "checksum mismatch: expected md5:0, got md5:1; saved as a.rejected; the file or the checksum in your list is wrong"
    ),
    (
      .init(.unproven, "no checksum is known for it", ""),
      "the file cannot be verified: no checksum is known for it; require less with --require-proof, or give a checksum"
    ),
    (.init(.cache, "not in the cache", "answering offline"), "not in the cache; run it once without --offline"),
    (
      .init(.conflict, path: "a", activity: "replacing"),
      "a file of this name exists (a); to replace it: --on-conflict overwrite"
    ),
    (
      .init(.folder, cause: .errno(13), path: "/x"),
      "the folder cannot be used (/x): Permission denied; choose another with --directory"
    ),
    (.init(.disk, cause: .errno(5), activity: "writing"), "failed while writing: Input/output error"),
    (
      .init(.diskFull, cause: .errno(28), neededBytes: 1 << 20),
      "the disk is full: No space left on device; free at least 1.0 MiB and run the same command again"
    ),
    (
      .init(.resources, cause: .errno(24)),
      "too many files and connections are open: Too many open files; allow more with ulimit -n, or use fewer --jobs"
    ),
    (
      .init(.resources, cause: .errno(12)),
      "this machine is short of memory: Cannot allocate memory; use fewer --jobs, or free memory"
    ),
    (.init(.transport, cause: .curl(code: 43, message: "why")), "the transfer failed: why"),
    (.init(.configuration, "why", ""), "configuration: why"),
    (.init(.closed), "closed"),
  ]

  @Test func everyCodeWithItsRemedy() {
    for (error, line) in Self.rows { #expect(FailureMessages(error).line == line) }
    #expect(Set(Self.rows.map(\.0.code)) == Set(DownloadError.Code.allCases))
    for (_, line) in Self.rows { #expect(!line.contains("address") && !line.contains("fetch"), "\(line)") }
  }

  private static let sources: [(list: String, line: Int?, text: String, reason: Rejection.Reason, String)] = [
    (
      "urls.txt", 3, "\"https://h/x\"", .malformed(.unsupportedScheme("\"https")),
      "urls.txt:3: \"https://h/x\" is in quotes: leave them out"
    ),
    (
      "command line", nil, "rsync://h/a/b", .malformed(.unsupportedScheme("rsync")),
      "\"rsync://h/a/b\": dlm downloads over http, https, ftp, ftps, ftpes, sftp, scp, s3, file only"
    ),
    (
      "urls.txt", 1, "smb://h/x", .malformed(.unsupportedScheme("smb")),
      "urls.txt:1: \"smb://h/x\": dlm downloads over http, https, ftp, ftps, ftpes, sftp, scp, s3, file only; fix or remove it"
    ),
    (
      "s3:bucket/key", nil, "", .unreadable(errno: 2),
      "s3:bucket/key cannot be read: No such file or directory; did you mean s3://bucket/key?"
    ),
    (
      "ftp//h/x", nil, "", .unreadable(errno: 2),
      "ftp//h/x cannot be read: No such file or directory; did you mean ftp://h/x?"
    ),
    (
      "doi:10.5281/zenodo.1", nil, "", .unreadable(errno: 2),
      "doi:10.5281/zenodo.1 cannot be read: No such file or directory; only Zenodo's DOIs name a list; for other files, "
        + "see https://doi.org/10.5281/zenodo.1"
    ),
    (
      "www.example.org/f", nil, "", .unreadable(errno: 2),
      "www.example.org/f cannot be read: No such file or directory; if it is a URL, write https://www.example.org/f"
    ),
    (
      "https//example.org/f", nil, "", .unreadable(errno: 2),
      "https//example.org/f cannot be read: No such file or directory; did you mean https://example.org/f?"
    ),
    ("none.txt", nil, "", .unreadable(errno: 2), "none.txt cannot be read: No such file or directory; check its name"),
    ("", nil, "", .unreadable(errno: 2), "\"\" cannot be read: No such file or directory; check its name"),
    (
      "\u{2013}output", nil, "", .unreadable(errno: 2),
      "\u{2013}output cannot be read: No such file or directory; if it is an option, write it with a plain hyphen (-)"
    ),
    ("a", nil, "", .unreadable(errno: 13), "a cannot be read: Permission denied; check its permissions"),
  ]

  @Test func aSourceThatIsNone() {
    for (list, line, text, reason, words) in Self.sources {
      #expect(RejectionMessages(Rejection(list: list, line: line, text: text, reason: reason)).line == words)
    }
  }

  @Test func aNearNameInTheFolderIsSuggested() throws {
    let folder = try TestSupport.TemporaryFolder()
    try folder.write([], to: "urls.txt")
    #expect(UsageMessages.remedy(forMissing: folder.path("url.txt")) == "did you mean \(folder.path("urls.txt"))?")
  }

  /// The parser listed no values where there are many, and none in a settings file.
  @Test func theValuesThatAreAllowedAreListed() {
    func said(_ value: String, _ option: String) -> [String] {
      UsageMessages.lines(ofParser: "Error: The value '\(value)' is invalid for '\(option)'. Please provide\nHelp: x")
    }
    #expect(
      said("csvv", "--list-format <format>") == [
        "dlm: --list-format: \"csvv\" is not a value for it; use apt, aria2, bagit, checksums, csv, esgf, html, json, "
          + "lines, s5cmd, tsv, xml. Did you mean csv?"
      ])
    #expect(said("x", "-j <N|auto>") == ["dlm: --jobs: \"x\" is not a value for it; use a number from 1, or auto"])
    #expect(
      said("sha256:12", "--checksum <algo:hex>") == [
        "dlm: --checksum: \"sha256:12\" is not a value for it; use ALGORITHM:HEX, such as sha256: and 64 digits"
      ])
    #expect(
      said("9/8", "--shard <i/n>") == ["dlm: --shard: \"9/8\" is not a value for it; use I/N, such as 3/8, or auto"])
    #expect(
      said("soon", "--max-time <time>")
        == ["dlm: --max-time: \"soon\" is not a value for it; use a time such as 30 (seconds), 10m, 1h or 2d"])
  }

  /// In a log all are named; at a terminal, and where a file has them, ten.
  @Test(arguments: [(false, nil, 400), (true, nil, 10), (false, "again.txt", 10)] as [(Bool, String?, Int)])
  func tenFailuresAreNamed(isTerminal: Bool, list: String?, named: Int) {
    let gone = (0..<399).map { DownloadError(.status, cause: .http(status: 404), address: "http://h/\($0)") }
    let report = RunReport(
      mode: .parallel, jobs: 1, tally: ProgressTally(), received: 0, elapsed: .seconds(1),
      failures: gone + [DownloadError(.reset, address: "http://h/reset", isTransient: true)], rejections: [])
    let lines = SummaryMessages(report: report, shortens: isTerminal, failedList: list).failureLines
    #expect(lines.count { $0.hasPrefix("    http") } == named && lines.contains("    http://h/reset"))
    #expect(lines.first == "dlm: 399 files: 404 Not Found")
    if named == 10 {
      let place = list.map { ", in \($0)" } ?? "; --failed FILE writes a list of all"
      #expect(lines.last == "dlm: and 390 more\(place)")
    }
  }

  @Test(
    arguments: [
      ("90", 90), ("90s", 90), ("1.5m", 90), ("1h", 3600), ("2d", 172_800), ("1w", 604_800),
    ] as [(String, Double)])
  func aTimeHasAUnit(text: String, seconds: Double) {
    #expect(Seconds(argument: text)?.duration == .seconds(seconds))
    #expect(TimeSpan(argument: text)?.seconds == Int64(seconds))
  }

  @Test(arguments: ["", "s", "-1", "1x", "1 h", "inf", "nan", "1e300", "h1"])
  func whatIsNoTime(text: String) { #expect(Seconds(argument: text) == nil && TimeSpan(argument: text) == nil) }
}
