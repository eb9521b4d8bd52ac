/// A login for storage that speaks S3.
package struct S3Credentials: Sendable, Equatable {
  package var accessKey, secretKey: String
  package var sessionToken: String?

  package init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.sessionToken = sessionToken
  }
}
