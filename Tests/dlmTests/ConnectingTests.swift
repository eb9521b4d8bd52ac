import DownloadModel
import Foundation
import TestSupport
import Testing

@Suite("The way to a server is the user's to choose: family, interface, addresses, lookups, socket, redirects")
struct ConnectingTests {
  /// An answer of another server is none of the host's own: without the option, it answers nothing.
  @Test func aHostAtTheGivenAddress() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .status(200, body: [1, 2, 3], headers: ["Cache-Control: max-age=9999", "ETag: \"1\""]))
    let place = try Workplace()
    let url = "http://data.example:\(origin.port)/f"
    let resolve = "data.example:\(origin.port):127.0.0.1"
    let run = try await place.dlm("get", url, "--resolve", resolve, "-d", "out")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("out/f") == [1, 2, 3])
    let again = try await place.dlm("get", url, "--resolve", resolve, "-d", "out")
    #expect(again.status == 0 && origin.log.count == 1, "it is fresh: \(again.errorText)")
    let other = try await place.dlm("get", url, "--retries", "0", "-d", "out")
    #expect(other.status == 75, "no such host: \(other.errorText)")
  }

  @Test(arguments: [("-4", 0), ("--ipv4", 0), ("-6", 75), ("--ipv6", 75)] as [(String, Int32)])
  func onlyOneFamily(option: String, status: Int32) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), option, "--retries", "0")
    #expect(run.status == status, "\(run.errorText)")
  }

  /// As some 250 addresses are this machine's loopback, the server tells which of them came.
  @Test(arguments: [("lo", "127.0.0.1"), ("127.0.0.7", "127.0.0.7")])
  func fromAnInterfaceOrAnAddress(name: String, seen: String) async throws {
    let server = try await NginxServer(serverLines: ["location = /who { return 200 $remote_addr; }"])
    defer { server.stop() }
    let place = try Workplace()
    let run = try await place.dlm("get", server.url("/who"), "--interface", name)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("who") == Array(seen.utf8))
  }

  @Test func lookupsOverHTTPS() async throws {
    let resolver = try await DoHServer()
    let origin = try FaultyOrigin()
    defer {
      resolver.stop()
      origin.stop()
    }
    origin.route("/f", .file([1, 2]))
    let place = try Workplace()
    let run = try await place.dlm(
      "get", "http://data.example:\(origin.port)/f", "--doh-url", resolver.url, "--cacert", resolver.certificatePath)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == [1, 2])
    #expect(resolver.asked == ["data.example"])
  }

  @Test func overASocket() async throws {
    let place = try Workplace()
    let socket = place.work + "/server"
    let server = try await NginxServer(serverLines: ["listen unix:\(socket);"])
    defer { server.stop() }
    _ = try server.write([7], to: "f")
    let run = try await place.dlm("get", "http://any.example/f", "--unix-socket", socket)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == [7])
  }

  @Test(arguments: [("0", false), ("1", false), ("2", true)])
  func redirectsAreCounted(most: String, isDownloaded: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .redirect(302, to: "/b"))
    origin.route("/b", .redirect(302, to: "/c"))
    origin.route("/c", .file([3]))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/a"), "--max-redirs", most)
    #expect(run.status == (isDownloaded ? 0 : 1), "\(run.errorText)")
    #expect(run.errorText.contains("--max-redirs") != isDownloaded, "\(run.errorText)")
  }

  /// Like a line of `-H`.
  @Test func theRefererGoesToTheURLsOwnServer() async throws {
    let origin = try FaultyOrigin()
    let other = try FaultyOrigin()
    defer {
      origin.stop()
      other.stop()
    }
    origin.route("/f", .redirect(302, to: other.url("/g")))
    other.route("/g", .file([1]))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), "--referer", "https://page.example/")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(origin.log.first?.headers["referer"] == "https://page.example/")
    #expect(other.log.first?.headers["referer"] == nil)
  }

  /// It goes nowhere else, is not remembered, and a URL's own login comes first.
  @Test func theLoginGoesToTheURLsOwnServer() async throws {
    let origin = try FaultyOrigin()
    let other = try FaultyOrigin()
    defer {
      origin.stop()
      other.stop()
    }
    origin.route("/f", .behindBasic(.redirect(302, to: other.url("/g"))))
    origin.route("/own", .behindBasic(.file([2])))
    other.route("/g", .file([1]))
    let place = try Workplace()
    let list = try place.list([origin.url("/f"), "http://you:own@127.0.0.1:\(origin.port)/own"])
    let run = try await place.dlm("get", list, "--user", "me:s3cret:x")
    #expect(run.status == 0, "\(run.errorText)")
    func sent(_ path: String) -> Set<String> {
      Set(origin.record.requests(to: path).compactMap { $0.headers["authorization"] })
    }
    #expect(sent("/f") == ["Basic " + Data("me:s3cret:x".utf8).base64EncodedString()])
    #expect(sent("/own") == ["Basic " + Data("you:own".utf8).base64EncodedString()])
    #expect(other.log.first?.headers["authorization"] == nil)
    let again = try await place.dlm("get")
    #expect(again.status == 64 && again.errorText.contains("give again --user"), "\(again.errorText)")
  }

  /// In a session without a terminal: from another group of the terminal's, the question would stop the whole group.
  @Test func aPasswordThatNobodyCanBeAskedFor() async throws {
    let place = try Workplace()
    let words = ["--wait", try DLMExecutable.path(), "get", "http://127.0.0.1:9/f", "-u", "me"]
    let run = try await place.start("/usr/bin/setsid", words).waitForExit()
    #expect(run.status == 64 && run.errorText.contains("--user has no password"), "\(run.errorText)")
  }

  @Test(
    arguments: [
      (["--user", "me:secret", "--netrc"], "both give logins"),
      (["-u", "me:secret", "--nope"], "--nope"), (["-qume:secret", "--nope"], "unknown option"),
      (["-4", "-6"], "-4 and -6 leave no address"),
      (["--interface", "eth77"], "eth77 is not an interface, or an address, of this machine; there are lo"),
      (["--resolve", "data.example:127.0.0.1"], "HOST:PORT:ADDRESS"),
      (["--resolve", "data.example:0:127.0.0.1"], "HOST:PORT:ADDRESS"),
      (["--resolve", "data.example:80:host"], "HOST:PORT:ADDRESS"),
      (["--resolve", "data.example:80:[127.0.0.1]"], "HOST:PORT:ADDRESS"),
      (["--doh-url", "http://dns.example/"], "is not a URL with https"),
      (["--doh-url", "https://u:secret@/"], "is not a URL with https"),
      (["--doh-url", "https://dns.example/", "--interface", "lo"], "does not ask through --interface"),
      (["--unix-socket", "/"], "is not a socket"),
      (["--referer", "a\nHost: b"], "--referer"),
      (["--max-redirs", "-1"], "max-redirs"),
    ] as [([String], String)])
  func mistakesAreSaid(options: [String], said: String) async throws {
    let place = try Workplace()
    let run = try await place.start(["get", "http://127.0.0.1:9/f"] + options).waitForExit()
    #expect(run.status == 64, "\(run.errorText)")
    #expect(run.errorText.contains(said), "\(run.errorText)")
    #expect(!run.errorText.contains("secret"), "\(run.errorText)")
  }
}
