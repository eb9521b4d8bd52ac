import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import dlm

@Suite("A working folder may choose how dlm works, never whom it trusts or where it writes", .serialized)
struct TrustTests {
  /// `./.dlm.conf`, whoever had written it, once sent everything through its proxy, certificates unlooked at.
  @Test(arguments: [
    "proxy = http://127.0.0.1:1", "insecure = yes", "cacert = none.pem", "netrc-file = none",
    "directory = elsewhere",
    "on-conflict = overwrite", "cookie-jar = none/jar", "cert = none.pem", "key = none.pem",
    "crlfile = none.pem",
    "aws-command = ./login", "aws-profile = other", "identity = none.key", "request-payer = yes", "ssl-reqd = yes",
    "pinnedpubkey = none.pem", "tlsv1.3 = yes", "tls-max = 1.2", "watch = yes", "refresh-every = 1s",
  ])
  func keysThatDoNotCount(line: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1, 2, 3]))
    let key = try #require(line.split(separator: " ").first)
    let place = try Workplace()
    _ = try place.folder.write([9], to: "work/f")
    _ = try place.folder.write(Array("\(line)\nmode = sequential\n".utf8), to: "work/.dlm.conf")
    let run = try await place.dlm("get", origin.url("/f"), "--retries", "0")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == [9])
    #expect(try place.file("f.1") == [1, 2, 3])
    let lines = run.errorText.split(separator: "\n").filter { $0.contains("is ignored") }
    #expect(lines.count == 1 && lines[0].contains(key), "\(run.errorText)")
    #expect(run.errorText.contains("dlm.conf") && run.errorText.contains("--\(key)"), "\(run.errorText)")
    #expect(run.errorText.contains("sequential"), "the other settings of the file hold: \(run.errorText)")
  }

  /// What stands there and changes nothing needs no word; one's own file may say all of it.
  @Test func keysThatCount() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    _ = try place.folder.write(
      Array("directory = .\ninsecure = no\ntlsv1.2 = no\n".utf8), to: "work/.dlm.conf")
    _ = try place.folder.write(Array("directory = out\n".utf8), to: "home/config/dlm/dlm.conf")
    let run = try await place.dlm("get", origin.url("/f"))
    #expect(run.status == 0)
    #expect(!run.errorText.contains("count"), "\(run.errorText)")
    #expect(try place.file("out/f") == [1])
  }

  /// A script's `dlm get LIST` would never end. The user's own file may say it.
  @Test func aFolderDoesNotWatch() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    _ = try place.list([origin.url("/f")])
    _ = try place.folder.write(Array("watch = yes\n".utf8), to: "work/.dlm.conf")
    let run = try await place.start(["get", "urls.txt"]).waitForExit()
    #expect(run.status == 0 && run.errorText.contains("watch is ignored"), "\(run.errorText)")
    _ = try place.folder.write(Array("watch = no\n".utf8), to: "work/.dlm.conf")
    let silent = try await place.dlm("get", "urls.txt")
    #expect(silent.status == 0 && !silent.errorText.contains("count"), "\(silent.errorText)")
    _ = try place.folder.write(Array("watch = yes\n".utf8), to: "home/config/dlm/dlm.conf")
    let watching = try place.start(["get", "urls.txt"])
    origin.route("/g", .file([1]))
    _ = try place.list([origin.url("/f"), origin.url("/g")])
    try await place.wait(forSize: 1, of: "g")
    // Lists are looked at again only by a run that watches.
    origin.route("/h", .file([1]))
    _ = try place.list([origin.url("/f"), origin.url("/g"), origin.url("/h")])
    try await place.wait(forSize: 1, of: "h")
    watching.send(SIGINT)
    #expect(try await watching.waitForExit().status == 0)
  }

  /// As a FIFO it once held dlm up for good.
  @Test(arguments: [
    "chmod 666 .dlm.conf", "chmod 664 .dlm.conf", "mv .dlm.conf x; ln -s x .dlm.conf",
    "rm .dlm.conf; mkfifo .dlm.conf", "rm .dlm.conf; mkdir .dlm.conf",
    "rm .dlm.conf; ln -s /dev/zero .dlm.conf",
  ])
  func filesThatAreNotRead(change: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    _ = try place.folder.write(Array("retries = none\n".utf8), to: "work/.dlm.conf")
    let script = "\(change); exec \"$0\" get \(origin.url("/f"))"
    let run = try await place.start("sh", ["-c", script, try DLMExecutable.path()]).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains(".dlm.conf is"), "\(run.errorText)")
    #expect(run.errorText.contains("not read"), "\(run.errorText)")
  }

  @Test(
    arguments: [
      (.less, "2", "1"), (.less, "auto", "64"), (.less, "2G", "500M"), (.less, "1.5", "1.2"),
      (.less, "1,16", "4"), (.less, "1", "0"), (.proof, "none", "length"), (.proof, "length", "digest"),
      (.on, "no", "yes"), (.on, "", "true"), (.off, "yes", "no"),
    ] as [(SettingRule, String, String)])
  func whichIsLooser(setting: SettingRule, loose: String, strict: String) {
    #expect(!setting.holds(loose, besides: strict))
    #expect(setting.holds(strict, besides: loose) && setting.holds(strict, besides: strict))
    #expect(setting.holds(loose, besides: nil), "without the user's own it demands nothing")
    #expect(setting.holds("neither", besides: strict), "a mistake is told where it counts")
  }

  @Test func whichNeedNoOrder() {
    let (own, keeping) = (SettingRule.own, SettingRule.keeping)
    #expect(!own.holds("b", besides: "a") && own.holds("b", besides: nil))
    for own in [nil, "rename", "skip", "ask"] { #expect(!keeping.holds("overwrite", besides: own)) }
    #expect(keeping.holds("overwrite", besides: "overwrite") && keeping.holds("rename", besides: "skip"))
  }

  /// `require-proof: none` in a folder once undid what its user demands of all files.
  @Test func onlyStricter() async throws {
    let place = try Workplace(stallTimeout: nil)
    var (strict, loose): ([String: String], [String: String]) = ([:], [:])
    for row in OptionTable.rows {
      (strict[row.name], loose[row.name]) =
        switch row.setting {
        case .nowhere, .anywhere, .byOwner: (nil, nil)
        case .less: ("1", "2")
        case .proof: ("digest", "length")
        case .on: ("yes", "no")
        case .off: ("no", "yes")
        case .own: ("a", "b")
        case .keeping: ("skip", "overwrite")
        }
    }
    for name in ["require-proof", "max-filesize", "checksums", "retries", "per-host", "on-conflict"] {
      #expect(strict[name] != nil, "\(name)")
    }
    func inForce(own: [String: String], folder: [String: String]) async throws -> CommandResult {
      func text(_ values: [String: String]) -> [UInt8] {
        Array(values.sorted { $0.key < $1.key }.map { "\($0) = \($1)\n" }.joined().utf8)
      }
      _ = try place.folder.write(text(own), to: "home/config/dlm/dlm.conf")
      _ = try place.folder.write(text(folder), to: "work/.dlm.conf")
      return try await place.dlm("config")
    }
    func values(_ run: CommandResult) -> [String: [Substring]] {
      Dictionary(
        run.outputText.split(separator: "\n").map { $0.split(separator: " ") }.map { (String($0[0]), $0) }
      ) { first, _ in first }
    }
    let kept = try await inForce(own: strict, folder: loose)
    for (name, value) in strict {
      #expect(values(kept)[name]?[1] == value[...], "\(kept.outputText)")
      #expect(values(kept)[name]?.last?.contains("dlm.conf:") == true, "\(kept.outputText)")
      #expect(kept.errorText.contains(": \(name): \(loose[name] ?? "") is ignored"), "\(kept.errorText)")
    }
    // The other way about it holds, and without the user's own too.
    for row in OptionTable.rows where row.setting == .own { loose[row.name] = strict[row.name] }
    loose["on-conflict"] = "rename"
    for own in [loose, [:]] {
      let tightened = try await inForce(own: own, folder: strict)
      for (name, value) in strict {
        #expect(values(tightened)[name]?[1] == value[...], "\(tightened.outputText)")
        #expect(values(tightened)[name]?.last?.contains(".dlm.conf:") == true, "\(tightened.outputText)")
      }
      #expect(tightened.errorText.isEmpty, "\(tightened.errorText)")
    }
  }

  /// The story: a folder's own list of checksums proved what its user wanted proved.
  @Test func aFolderProvesNothing() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    _ = try place.folder.write(Array("require-proof = digest\n".utf8), to: "home/config/dlm/dlm.conf")
    _ = try place.folder.write(Array("checksums = SUMS\n".utf8), to: "work/.dlm.conf")
    let sum = try await ProofTests.sum([1])
    _ = try place.folder.write(Array("\(sum)  f\n".utf8), to: "work/SUMS")
    let run = try await place.dlm("get", origin.url("/f"))
    #expect(run.status == 1 && run.errorText.contains("checksums: SUMS is ignored"), "\(run.errorText)")
    #expect(try await place.dlm("get", origin.url("/f"), "--checksums", "SUMS").status == 0)
  }

  /// A file that never ends, or begins.
  @Test func whatNeverEnds() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    #expect(mkfifo("\(place.work)/pipe", 0o600) == 0)
    for path in ["pipe", "/dev/zero"] {
      _ = try place.folder.write(Array("checksums = \(path)\n".utf8), to: "work/.dlm.conf")
      let run = try await place.start(["get", "--refresh", origin.url("/f")]).waitForExit()
      #expect(run.status == 0, "\(run.errorText)")
      #expect(run.errorText.contains(".dlm.conf:1: checksums: \(path) is ignored"), "\(run.errorText)")
    }
    let zero = try await place.start(["get", origin.url("/f"), "--checksums", "/dev/zero"]).waitForExit()
    #expect(zero.status == 66 && zero.errorText.contains("too large"), "\(zero.errorText)")
  }

  /// A dotfile manager's link in one's own folder is followed, and what it leads to judged.
  @Test func ownFileBehindALink() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    _ = try place.folder.write(Array("directory = out\n".utf8), to: "dotfiles/dlm.conf")
    try FileManager.default.createDirectory(
      atPath: place.folder.path("home/config/dlm"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: place.folder.path("home/config/dlm/dlm.conf"),
      withDestinationPath: place.folder.path("dotfiles/dlm.conf"))
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try place.file("out/f") == [1])
  }

  /// Without HOME `/tmp/.config`, which anybody can write, was once believed.
  @Test(arguments: [nil, "", "relative", "/h"] as [String?], [nil, "/u", "u"] as [String?])
  func folders(home: String?, byLogin: String?) {
    let folders = XDGFolders(["HOME": home].compactMapValues(\.self), homeByLogin: { byLogin })
    let expected = home == "/h" ? "/h" : byLogin == "/u" ? "/u" : nil
    #expect(folders.config == expected.map { FilePath("\($0)/.config/dlm") })
    #expect(folders.cache == expected.map { FilePath("\($0)/.cache/dlm") })
    #expect(folders.state == expected.map { FilePath("\($0)/.local/state/dlm") })
    #expect(folders.warnings.count == (expected == nil ? 1 : 0))
    let some = XDGFolders(["XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "rel"], homeByLogin: { nil })
    #expect(some.cache == "/c/dlm" && some.state == nil && some.warnings.count == 1)
  }

  /// A user whom the system does not know: the run does without a cache, says so once, and writes nothing
  /// below /tmp.
  @Test(.enabled(if: NameSpace.isAllowed))
  func noHomeAtAll() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    _ = try place.folder.write(Array("root:x:0:0:root:relative:/bin/sh\n".utf8), to: "passwd")
    let script =
      #"mount --bind "$0" /etc/passwd && exec env -u HOME -u XDG_CONFIG_HOME -u XDG_CACHE_HOME -u XDG_STATE_HOME "$@""#
    let run = try await place.start(
      "unshare",
      [
        "-Urm", "sh", "-c", script, place.folder.path("passwd"), try DLMExecutable.path(), "get",
        origin.url("/f"),
      ]
    ).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.components(separatedBy: "there is no home folder").count == 2, "\(run.errorText)")
    #expect(try place.file("f") == [1])
    let command = try await place.start(
      "unshare",
      [
        "-Urm", "sh", "-c", script, place.folder.path("passwd"), try DLMExecutable.path(), "cache", "path",
      ]
    ).waitForExit()
    #expect(command.status == 1 && command.outputText.isEmpty, "\(command.outputText)\(command.errorText)")
  }

  /// A line end in it would be a header line of somebody else's.
  @Test func userAgents() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    let option = try await place.dlm("get", "--user-agent", "a\r\nX-Injected: 1", origin.url("/f"))
    #expect(option.status == 64 && option.errorText.contains("--user-agent"), "\(option.errorText)")
    let variable = try Workplace(["DLM_USER_AGENT": "a\nX-Injected: 1"])
    #expect(try await variable.dlm("get", origin.url("/f")).status == 64)
    _ = try place.folder.write(Array("user-agent = a\rX-Injected: 1\n".utf8), to: "work/.dlm.conf")
    #expect(try await place.dlm("get", origin.url("/f")).status == 64)
    #expect(origin.log.isEmpty)
  }
}
