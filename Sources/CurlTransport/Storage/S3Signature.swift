import DownloadModel
import Glibc

/// An AWS signature of version 4 for S3 (docs.aws.amazon.com, "Signature Calculations for the Authorization Header").
/// libcurl's own leaves out `x-amz-content-sha256`, and signs some keys and queries wrongly.
struct S3Signature {
  /// Name and value, as sent, without the signature.
  let headers: [(name: String, value: String)]
  private let credentials: S3Credentials
  private let scope: String
  private let time: String
  private let canonicalRequest: String

  /// The SHA-256 of an empty body, which all requests have.
  static let emptyBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  /// - Parameters:
  ///   - target: path and query as they are sent: encoded once, and not normalised.
  ///   - more: further header lines to sign.
  ///   - seconds: since 1970.
  init(
    _ method: String = "GET", host: String, target: String, _ credentials: S3Credentials, region: String,
    more: [(name: String, value: String)] = [], body: String = emptyBody, at seconds: Int64
  ) {
    self.credentials = credentials
    time = tm.text(seconds, "%Y%m%dT%H%M%SZ")
    scope = "\(time.prefix(8))/\(region)/s3/aws4_request"
    var headers = more + [(name: "x-amz-content-sha256", value: body), (name: "x-amz-date", value: time)]
    if let token = credentials.sessionToken { headers.append((name: "x-amz-security-token", value: token)) }
    self.headers = headers
    let signed = (headers + [(name: "host", value: host)]).sorted { $0.name < $1.name }
    let (path, parameters) = target.halves(at: "?")
    // A parameter without a value is signed with an empty one.
    let query = (parameters ?? "").split(separator: "&")
      .map { $0.contains("=") ? String($0) : "\($0)=" }.sorted()
    canonicalRequest =
      ([method, String(path), query.joined(separator: "&")] + signed.map { "\($0.name):\($0.value)" } + [
        "", Self.names(signed), body,
      ]).joined(separator: "\n")
  }

  private static func names(_ headers: [(name: String, value: String)]) -> String {
    headers.map(\.name).sorted().joined(separator: ";")
  }

  /// In hexadecimal.
  var signature: String {
    let text = [
      "AWS4-HMAC-SHA256", time, scope, ContentHasher.digest(of: Array(canonicalRequest.utf8)).hex,
    ].joined(separator: "\n")
    let key = (scope.split(separator: "/").map { Array($0.utf8) }).reduce(Array("AWS4\(credentials.secretKey)".utf8)) {
      ContentHasher.authenticationCode(of: $1, key: $0)
    }
    return ContentHasher.authenticationCode(of: Array(text.utf8), key: key).hexadecimal
  }

  var headerLines: [String] {
    let names = Self.names(headers + [(name: "host", value: "")])
    return headers.map { "\($0.name): \($0.value)" } + [
      "Authorization: AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names), "
        + "Signature=\(signature)"
    ]
  }
}
