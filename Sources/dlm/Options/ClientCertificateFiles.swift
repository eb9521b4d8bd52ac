import ArgumentParser
import CurlTransport
import Glibc
import SystemPackage

/// What a `--cert` holds.
enum CertificateType: String, CaseIterable, ExpressibleByArgument {
  case pem = "PEM"
  case p12 = "P12"

  init?(argument: String) { self.init(rawValue: argument.uppercased()) }
}

/// `--cert`, `--key` and the pass phrase, looked at before the run: a wrong path is one message, not one a file.
///
/// The pass phrase is never on the command line, which every user of the machine can see (ps): it comes from a file, from
/// the environment, or from whoever sits at the terminal.
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
      guard Self.holds("-----BEGIN", bytes) else {
        throw ValidationError(
          "--cert \(certificate) is neither PEM nor PKCS #12: name a file with your certificate.")
      }
      let keyBytes = try key.map { try Self.bytes("--key", $0) } ?? bytes
      guard Self.holds("PRIVATE KEY-----", keyBytes) else {
        throw ValidationError(
          key.map { "--key \($0) holds no private key in PEM: name the file that does." }
            ?? "--cert \(certificate) holds no private key: name its file with --key.")
      }
      locked = Self.holds("ENCRYPTED", keyBytes)
    } else if key != nil {
      throw ValidationError(
        "--key is for a certificate in PEM: \(certificate) is PKCS #12, with its key in it.")
    }
    let given = try passphraseFile.map { try Self.firstLine(of: $0) } ?? passphrase
    let name = key ?? certificate
    let secret = given ?? (locked ? ask("Pass phrase for \(name): ") : nil)
    if locked, secret == nil, !isPKCS12 {
      throw ValidationError(
        "\(name) is locked with a pass phrase: name a file that holds it with --cert-passphrase-file, or set DLM_CERT_PASSPHRASE."
      )
    }
    return TLSOptions.Identity(
      certificate: certificate, isPKCS12: isPKCS12, key: key, passphrase: secret ?? "")
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
    do {
      // A pipe gives what it holds once, and libcurl reads the file again for each connection.
      let file = try FileDescriptor.open(
        FilePath(path), .readOnly, options: [.closeOnExec, .nonBlocking])
      return try file.closeAfter {
        var status = stat()
        guard fstat(file.rawValue, &status) == 0 else { throw Errno(rawValue: errno) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= longest else {
          throw ValidationError("\(option) \(path) cannot be used: it is no regular file of less than 1 MiB.")
        }
        return try [UInt8](unsafeUninitializedCapacity: longest) { buffer, count in
          count = try file.read(into: UnsafeMutableRawBufferPointer(buffer), retryOnInterrupt: true)
        }
      }
    } catch let error as Errno {
      throw ValidationError(unreadable(option, path, error))
    }
  }

  /// `curl --cert me.pem:secret` puts the pass phrase behind a colon. It is not said again.
  private static func unreadable(_ option: String, _ path: String, _ error: Errno) -> String {
    if option == "--cert", let colon = path.firstIndex(of: ":") {
      return
        "--cert \(path[..<colon]):… cannot be read: \(error.description). It takes a file only. A pass phrase on the command line is seen by every user; name a file that holds it with --cert-passphrase-file, or set DLM_CERT_PASSPHRASE."
    }
    return "\(option) \(path) cannot be read: \(error.description)."
  }
}
