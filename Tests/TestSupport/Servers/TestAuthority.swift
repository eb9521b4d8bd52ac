import Glibc

/// A certificate authority of a test's own, made by openssl in a folder that goes with it.
package final class TestAuthority: Sendable {
  package let folder: TemporaryFolder

  /// Its certificate in PEM: whom to trust.
  package var certificatePath: String { folder.path("ca.pem") }
  /// What it has taken back, in PEM.
  package var revocationListPath: String { folder.path("crl.pem") }

  package init() async throws {
    folder = try TemporaryFolder()
    // Servers read it as somebody else.
    chmod(folder.path, 0o755)
    try folder.write(Array(Self.configuration.utf8), to: "ca.cnf")
    try await run(
      """
      touch index.txt; echo 01 > serial; echo 01 > crlnumber; mkdir new
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority \
        -addext keyUsage=critical,keyCertSign,cRLSign -keyout ca.key -out ca.pem
      openssl ca -config ca.cnf -gencrl -out crl.pem
      """)
  }

  /// Issues a certificate: `NAME.pem`, its key `NAME.key`, both in `NAME.both.pem`; the key under the pass
  /// phrase in `NAME.locked.key`; and all of it under the pass phrase in `NAME.p12`.
  /// - Parameters:
  ///   - names: `DNS:localhost,IP:127.0.0.1`.
  ///   - dates: when it is valid, as `openssl ca` takes it; nil for two days from now.
  package func issue(
    _ name: String, names: String = "DNS:localhost,IP:127.0.0.1", passphrase: String = "secret", dates: String? = nil
  ) async throws {
    try folder.write(Array(passphrase.utf8), to: "phrase")
    try await run(
      """
      openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=\(name) -keyout \(name).key -out \(name).csr
      echo 'subjectAltName=\(names)' > \(name).ext
      openssl ca -batch -notext -config ca.cnf -extfile \(name).ext -in \(name).csr -out \(name).pem \(dates ?? "")
      cat \(name).pem \(name).key > \(name).both.pem
      openssl pkcs8 -topk8 -in \(name).key -out \(name).locked.key -passout file:phrase
      openssl pkcs12 -export -in \(name).pem -inkey \(name).key -out \(name).p12 -passout file:phrase
      """)
  }

  /// Takes a certificate back, and says so in its list.
  package func revoke(_ name: String) async throws {
    try await run(
      "openssl ca -config ca.cnf -revoke \(name).pem; openssl ca -config ca.cnf -gencrl -out crl.pem")
  }

  /// The public key of a certificate as `--pinnedpubkey` takes it.
  package func pin(of name: String) async throws -> String {
    let text = try await run(
      "openssl x509 -in \(name).pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | openssl base64"
    )
    return "sha256//" + text.filter { !$0.isNewline }
  }

  @discardableResult
  private func run(_ script: String) async throws -> String {
    let result = try await CommandRun.result(of: "sh", ["-ec", script], folder: folder.path)
    guard result.status == 0 else { throw SupportFailure("openssl: \(result.errorText)") }
    return result.outputText
  }

  private static let configuration = """
    [ca]
    default_ca = own
    [own]
    dir = .
    database = ./index.txt
    serial = ./serial
    crlnumber = ./crlnumber
    new_certs_dir = ./new
    certificate = ./ca.pem
    private_key = ./ca.key
    default_md = sha256
    default_days = 2
    default_crl_days = 2
    policy = any
    unique_subject = no
    copy_extensions = none
    [any]
    commonName = supplied

    """
}

/// A certificate that nobody but the test trusts, for a server's run. Its names are `localhost` and
/// `127.0.0.1`.
enum SelfSignedCertificate {
  /// Its names in the folder, in PEM.
  static let certificate = "certificate.pem"
  static let key = "key.pem"

  /// - Throws: when openssl is missing.
  static func make(in folder: TemporaryFolder) async throws(SupportFailure) {
    let result = try await CommandRun.result(
      of: "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout", folder.path(key), "-out", folder.path(certificate),
      ])
    guard result.status == 0 else { throw SupportFailure("openssl made no certificate: \(result.errorText)") }
  }
}
