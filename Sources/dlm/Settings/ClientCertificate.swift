import ArgumentParser
import DownloadModel

/// `--cert`, `--key` and the pass phrase, checked before the run, so that a wrong path causes one message. The pass
/// phrase is never on the command line, which every user of the machine can see (ps).
enum ClientCertificate {
  /// - Parameter passphrase: DLM_CERT_PASSPHRASE.
  static func identity(
    _ certificate: String, _ options: RunOptions, passphrase: String?
  ) throws -> TLSOptions.Identity {
    let key = options.key
    let bytes = try bytes("--cert", certificate)
    let isPKCS12 = options.certType.map { $0 == .p12 } ?? (bytes.first == 0x30)
    if isPKCS12, key != nil {
      throw ValidationError(
        "--key is for a certificate in PEM, and \(certificate) is PKCS #12, which has its key in it: leave --key out.")
    }
    let isLocked = try isPKCS12 || isLockedPEM(certificate, bytes, key: key)
    let name = key ?? certificate
    var secret = try options.certPassphraseFile.map(firstLine) ?? passphrase
    if secret == nil, isLocked { secret = TerminalPrompt.secret("Pass phrase for \(name): ") }
    if secret == nil, isLocked, !isPKCS12 {
      throw ValidationError(
        "\(name) is locked with a pass phrase: name a file that has it with --cert-passphrase-file, or set "
          + "DLM_CERT_PASSPHRASE.")
    }
    return TLSOptions.Identity(
      certificate: certificate, digest: ContentHasher.digest(of: bytes).hex, isPKCS12: isPKCS12, key: key,
      passphrase: secret ?? "")
  }

  private static func isLockedPEM(_ certificate: String, _ bytes: [UInt8], key: String?) throws -> Bool {
    guard holds("-----BEGIN", bytes) else {
      throw ValidationError("--cert \(certificate) is neither PEM nor PKCS #12: name a file with your certificate.")
    }
    let keyBytes = try key.map { try Self.bytes("--key", $0) } ?? bytes
    guard holds("PRIVATE KEY-----", keyBytes) else {
      throw ValidationError(
        key.map { "--key \($0) has no private key in PEM in it: name the file that has." }
          ?? "--cert \(certificate) has no private key in it: name its file with --key.")
    }
    return holds("ENCRYPTED", keyBytes)
  }

  private static func holds(_ text: String, _ bytes: [UInt8]) -> Bool { bytes.place(of: text) != nil }

  private static func firstLine(of path: String) throws -> String {
    let bytes = try bytes("--cert-passphrase-file", path)
    let line = bytes.prefix { $0 != .newline && $0 != .carriageReturn && $0 != 0 }
    return String(utf8: line)
  }

  private static func bytes(_ option: String, _ path: String) throws -> [UInt8] {
    // No pipe, which can be read only once: libcurl reads the file for each connection.
    try UserFile.usable(path, upTo: 1 << 20) { cause in
      // curl accepts FILE:PASSPHRASE here, and no message may repeat a pass phrase.
      guard option == "--cert", let colon = path.firstIndex(of: ":") else {
        return UsageMessages.unreadable(option, path, cause)
      }
      return "--cert \(path[..<colon]):… cannot be read: \(cause). It takes only a file, as every user can see a "
        + "command line; name a file that has the pass phrase with --cert-passphrase-file, or set "
        + "DLM_CERT_PASSPHRASE."
    }
  }
}
