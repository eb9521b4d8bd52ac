import CurlTransport
import DownloadModel
import SystemPackage

/// The login and the place of S3 storage, as AWS's tools have them: variables, the profile of `~/.aws`, a command.
struct AWSFiles {
  let environment: [String: String]
  /// `--aws-profile`, else AWS_PROFILE.
  let profile: String?
  /// `--aws-command`: prints a login as JSON (credential_process).
  let command: HookCommand?
  let pays: Bool

  init(_ options: RunOptions, _ environment: [String: String]) {
    self.environment = environment
    profile = options.awsProfile
    command = options.awsCommand
    pays = options.requestPayer
  }

  /// What decides which store and which login it is; a secret is not part of it.
  var choices: [String] {
    let names = ["AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_PROFILE"]
    let command = command.map { [$0.words.joined(separator: " ")] } ?? []
    return names.compactMap { name in environment[name].map { "\(name)=\($0)" } } + [profile].compactMap(\.self)
      + command
  }

  /// Blocks.
  func access() throws(DownloadError) -> S3Storage.Access {
    let name = profile ?? environment["AWS_PROFILE"] ?? "default"
    let home = (environment["HOME"] ?? "") + "/.aws/"
    let login = section(name, in: environment["AWS_SHARED_CREDENTIALS_FILE"] ?? home + "credentials")
    let settings =
      section(name == "default" ? name : "profile \(name)", in: environment["AWS_CONFIG_FILE"] ?? home + "config")
    let namedBy = profile == nil ? environment["AWS_PROFILE"].map { _ in "AWS_PROFILE" } : "--aws-profile"
    if let namedBy, login.isEmpty, settings.isEmpty {
      throw Self.failure("\(namedBy) \(name) is in no file of \(home)")
    }
    var access = S3Storage.Access()
    access.pays = pays
    access.region =
      environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? settings["region"] ?? access.region
    let endpoint = environment["AWS_ENDPOINT_URL_S3"] ?? environment["AWS_ENDPOINT_URL"] ?? settings["endpoint_url"]
    if let endpoint {
      guard let address = try? Address(endpoint), address.scheme.isHTTP else {
        throw Self.failure("AWS_ENDPOINT_URL \(Redaction.redactedAddress(endpoint)) is not a URL")
      }
      access.endpoint = address
    }
    let process = command ?? (settings["credential_process"] ?? login["credential_process"]).flatMap(HookCommand.init)
    if command == nil {
      if profile == nil {
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]
        access.credentials = try Self.credentials(environment, names)
      }
      let names = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"]
      if access.credentials == nil {
        access.credentials = try Self.credentials(login.isEmpty ? settings : login, names)
      }
    }
    if access.credentials == nil, let process { access.credentials = try Self.credentials(of: process) }
    if let namedBy, access.credentials == nil {
      throw Self.failure(
        "\(namedBy) \(name) has no keys; for a role or sso, --aws-command 'aws configure export-credentials --profile "
          + "\(name)' prints the login")
    }
    return access
  }

  /// - Parameter names: of key, secret and session token.
  /// - Throws: if a key has no secret.
  private static func credentials(
    _ values: [String: String], _ names: [String]
  ) throws(DownloadError) -> S3Credentials? {
    let found = names.map { name in values[name].flatMap { $0.isEmpty ? nil : $0 } }
    guard let key = found[0] else { return nil }
    guard let secret = found[1] else { throw failure("\(names[1]) is missing beside \(names[0])") }
    return S3Credentials(accessKey: key, secretKey: secret, sessionToken: found[2])
  }

  private static func credentials(of command: HookCommand) throws(DownloadError) -> S3Credentials {
    guard let json = Hooks.output(of: command.words).flatMap({ ProcessLogin(json: $0) }) else {
      throw failure("\(command.words[0]) printed no login in JSON, or failed")
    }
    return S3Credentials(accessKey: json.accessKey, secretKey: json.secretKey, sessionToken: json.sessionToken)
  }

  private struct ProcessLogin: Decodable {
    let accessKey, secretKey: String
    let sessionToken: String?

    enum CodingKeys: String, CodingKey {
      case accessKey = "AccessKeyId"
      case secretKey = "SecretAccessKey"
      case sessionToken = "SessionToken"
    }
  }

  private static func failure(_ why: String) -> DownloadError {
    DownloadError(.configuration, why, "reading the login for S3")
  }

  /// The values of a section of an INI file, by their names in lower case.
  private func section(_ name: String, in path: String) -> [String: String] {
    let text = FileDescriptor.bytes(of: FilePath(path), upTo: 1 << 20).map { String(utf8: $0) } ?? ""
    return Self.section(name, of: text)
  }

  static func section(_ name: String, of text: String) -> [String: String] {
    var isWanted = false
    var values: [String: String] = [:]
    for line in text.split(whereSeparator: \.endsLine) {
      let line = OptionalWhiteSpace.trimmed(line)
      if line.hasPrefix("["), line.hasSuffix("]") {
        isWanted = OptionalWhiteSpace.trimmed(line.dropFirst().dropLast()) == name
      } else if isWanted, !line.hasPrefix("#"), !line.hasPrefix(";"), let equals = line.firstIndex(of: "=") {
        let key = OptionalWhiteSpace.trimmed(line[..<equals]).lowercased()
        values[key] = String(OptionalWhiteSpace.trimmed(line[equals...].dropFirst()))
      }
    }
    return values
  }
}
