import DownloadModel
import Testing

@testable import CurlTransport

@Suite("Keys of servers over SSH, as known_hosts has them")
struct KnownHostsTests {
  private static let text = """
    # a comment
    plain.example,192.0.2.1 ssh-ed25519 AAAA comment with words
    *.wild.example,!bad.wild.example ssh-ed25519 BBBB
    [port.example]:2222 ecdsa-sha2-nistp256 CCCC
    |1|nGCRpaUgfLGKGYuLcYYvZsFkr1I=|bYK9iqMtZ8yPGUGYLTQ3Bx1jWyQ= ssh-ed25519 DDDD
    @revoked * ssh-ed25519 EEEE
    @cert-authority *.ca.example ssh-ed25519 FFFF
    two.example ssh-rsa GGGG
    two.example ssh-ed25519 HHHH
    old.example ssh-rsa IIII
    damaged.example
    """
  private static let hosts = KnownHosts(text)

  @Test(
    arguments: [
      ("plain.example", 22, "ssh-ed25519", "AAAA", nil), ("192.0.2.1", 22, "ssh-ed25519", "AAAA", nil),
      ("plain.example", 22, "ssh-ed25519", "ZZZZ", .changed),
      // Another type is another key: nothing is known of it.
      ("plain.example", 22, "ecdsa-sha2-nistp256", "ZZZZ", .unknown),
      ("other.example", 22, "ssh-ed25519", "AAAA", .unknown),
      // As with ssh, a line without a port counts where none names it.
      ("plain.example", 2200, "ssh-ed25519", "AAAA", nil),
      ("a.wild.example", 22, "ssh-ed25519", "BBBB", nil), ("bad.wild.example", 22, "ssh-ed25519", "BBBB", .unknown),
      ("port.example", 2222, "ecdsa-sha2-nistp256", "CCCC", nil),
      ("port.example", 22, "ecdsa-sha2-nistp256", "CCCC", .unknown),
      ("any.example", 22, "ssh-ed25519", "EEEE", .revoked), ("plain.example", 22, "ssh-ed25519", "EEEE", .revoked),
      ("a.ca.example", 22, "ssh-ed25519", "FFFF", .unknown), ("two.example", 22, "ssh-ed25519", "HHHH", nil),
      ("damaged.example", 22, "ssh-ed25519", "", .unknown),
    ] as [(String, Int, String, String, HostKeyFault?)])
  func verdicts(host: String, port: Int, type: String, key: String, fault: HostKeyFault?) {
    #expect(Self.hosts.fault(of: key, type: type, at: host, port: port) == fault)
  }

  /// Made by `ssh-keygen -H`.
  @Test func hashedNames() {
    let text = "|1|zytcYdBjEMhcFNR0EbHyEc8MX10=|SILhFigBRTVmLACkFhhRXc/fA14= ssh-rsa AAAA"
    let hosts = KnownHosts(text)
    #expect(hosts.fault(of: "AAAA", type: "ssh-rsa", at: "192.168.1.61", port: 22) == nil)
    #expect(hosts.fault(of: "AAAA", type: "ssh-rsa", at: "192.168.1.62", port: 22) == .unknown)
  }

  /// What a server calls the type of its key would be a line of its own in the user's file.
  @Test(arguments: [("ssh-ed25519", true), ("x\n* ssh-rsa AAAA", false), ("ssh-dss", false), ("", false)])
  func whichUnknownKeysAreOffered(type: String, isOffered: Bool) async throws {
    let user = SSHUser()
    user.onUnknownKey { $0.type == type }
    let place = try Address("sftp://host.example/f")
    let key = [0, 0, 0, UInt8(type.utf8.count)] + Array(type.utf8) + [1, 2, 3]
    #expect(user.failure(of: key, at: place)?.code == .hostKey)
    #expect(await user.accepts(place) == isOffered)
    #expect((user.failure(of: key, at: place) == nil) == isOffered)
    #expect(user.failure(of: key + [4], at: place)?.code == .hostKey)
  }

  @Test(
    arguments: [
      ("plain.example", 22, "plain.example ssh-ed25519 AAAA\n"), ("two.example", 22, "two.example ssh-ed25519 HHHH\n"),
      ("old.example", 22, "old.example ssh-rsa IIII\n"), ("a.wild.example", 22, "a.wild.example ssh-ed25519 BBBB\n"),
      ("port.example", 2222, "port.example ecdsa-sha2-nistp256 CCCC\n"), ("other.example", 22, nil),
    ] as [(String, Int, String?)])
  func theTypeToAskFor(host: String, port: Int, line: String?) {
    #expect(Self.hosts.line(for: host, port: port) == line)
  }
}
