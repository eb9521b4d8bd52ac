import ArgumentParser
import DownloadModel

/// What a `--cert` holds.
enum CertificateType: String, CaseIterable, ExpressibleByArgument {
  case pem = "PEM"
  case p12 = "P12"

  init?(argument: String) { self.init(rawValue: argument.uppercased()) }

  static var allValueStrings: [String] { allCases.map { $0.rawValue } }
  static var allValueDescriptions: [String: String] { [:] }
}

/// `--cert`, `--key` and the pass phrase, looked at before the run: a wrong path is one message, not one a file.
///
/// The pass phrase is never on the command line, which every user of the machine can see (ps): it comes from a file,
/// from the environment, or from the terminal.
struct ClientCertificateFiles {
  var certificate: String
  /// Nil to look what it is.
  var type: CertificateType?
  var key: String?
  /// `--cert-passphrase-file`.
  var passphraseFile: String?
  /// DLM_CERT_PASSPHRASE.
  var passphrase: String?

  /// - Parameter ask: asks at the terminal; nil where there is none.
  /// - Throws: `ValidationError` naming option, file and remedy.
  func identity(ask: (_ question: String) -> String?) throws -> TLSOptions.Identity {
    let bytes = try Self.bytes("--cert", certificate)
    let isPKCS12 = type.map { $0 == .p12 } ?? (bytes.first == 0x30)
    var locked = isPKCS12
    if !isPKCS12 {
      guard Self.holds("-----BEGIN", bytes) else { throw ValidationError(UsageMessages.noCertificate(certificate)) }
      let keyBytes = try key.map { try Self.bytes("--key", $0) } ?? bytes
      guard Self.holds("PRIVATE KEY-----", keyBytes) else {
        throw ValidationError(UsageMessages.noPrivateKey(certificate, key: key))
      }
      locked = Self.holds("ENCRYPTED", keyBytes)
    } else if key != nil {
      throw ValidationError(UsageMessages.keyOfPKCS12(certificate))
    }
    let given = try passphraseFile.map { try Self.firstLine(of: $0) } ?? passphrase
    let name = key ?? certificate
    let secret = given ?? (locked ? ask(QuestionMessages.passphrase(of: name)) : nil)
    if locked, secret == nil, !isPKCS12 {
      throw ValidationError(UsageMessages.locked(name))
    }
    return TLSOptions.Identity(
      certificate: certificate, digest: ContentHasher.digest(of: bytes).hex, isPKCS12: isPKCS12, key: key,
      passphrase: secret ?? "")
  }

  private static func holds(_ text: StaticString, _ bytes: [UInt8]) -> Bool {
    bytes.firstRange(of: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)) != nil
  }

  private static func firstLine(of path: String) throws -> String {
    let bytes = try bytes("--cert-passphrase-file", path)
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") && $0 != 0 }
    return String(decoding: line, as: UTF8.self)
  }

  /// Certificates are a page.
  private static let longest = 1 << 20

  private static func bytes(_ option: String, _ path: String) throws -> [UInt8] {
    // Not of a pipe, which gives what it holds once: libcurl reads the file again for each connection.
    do throws(UserFile.Refusal) {
      return try UserFile.bytes(path, upTo: longest)
    } catch {
      throw ValidationError(UsageMessages.unreadableCertificate(option, path, UsageMessages.cause(error)))
    }
  }
}
