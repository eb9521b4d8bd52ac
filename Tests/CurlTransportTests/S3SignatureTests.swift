import DownloadModel
import Testing

@testable import CurlTransport

/// The examples of Amazon's documentation of the Authorization header for S3, and what libcurl's own signature gets
/// wrong.
@Suite("Signatures for S3, and its documents")
struct S3SignatureTests {
  private static let credentials = S3Credentials(
    accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
  private static let host = "examplebucket.s3.amazonaws.com"
  /// 2013-05-24
  private static let time: Int64 = 1_369_353_600

  @Test(
    arguments: [
      ("/test.txt", [("range", "bytes=0-9")], "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
      ("/?lifecycle", [], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
      ("/?max-keys=2&prefix=J", [], "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
      // The order of parameters does not matter.
      ("/?prefix=J&max-keys=2", [], "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ] as [(String, [(String, String)], String)])
  func examples(target: String, more: [(String, String)], signature: String) {
    let made = S3Signature(
      host: Self.host, target: target, Self.credentials, region: "us-east-1", more: more.map { (name: $0, value: $1) },
      at: Self.time)
    #expect(made.signature == signature)
  }

  @Test func anUpload() {
    let body = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
    let more = [
      (name: "date", value: "Fri, 24 May 2013 00:00:00 GMT"),
      (name: "x-amz-storage-class", value: "REDUCED_REDUNDANCY"),
    ]
    let made = S3Signature(
      "PUT", host: Self.host, target: "/test%24file.text", Self.credentials, region: "us-east-1", more: more,
      body: body,
      at: Self.time)
    #expect(made.signature == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
  }

  @Test(arguments: [
    ("s3://b/a b+c=d/e?f#g", "s3://b/a%20b%2Bc%3Dd/e%3Ff%23g"), ("s3://b/%41%2b%", "s3://b/A%2B%25"),
    ("s3://b/k?versionId=1a", "s3://b/k?versionId=1a"), ("s3://b", "s3://b"), ("S3://b/a#b", "s3://b/a%23b"),
    ("s3://b/a//./../c", "s3://b/a//./../c"),
  ])
  func keys(text: String, key: String) throws {
    #expect(try Address(text).key == key)
    #expect(try Address(key).key == key, "an address of it is the same one")
  }

  @Test func whereRequestsGo() async throws {
    let storage = S3Storage(now: { 0 }) { () throws(DownloadError) in
      var access = S3Storage.Access()
      access.region = "eu-west-1"
      return access
    }
    try await storage.prepare()
    func url(_ text: String, page: String? = nil) throws -> String {
      storage.request(try Address(text), isSigned: true, page: page).url
    }
    #expect(try url("s3://b/k") == "https://b.s3.eu-west-1.amazonaws.com/k")
    #expect(try url("s3://b.c/k") == "https://s3.eu-west-1.amazonaws.com/b.c/k")
    #expect(
      try url("s3://b/d/e f/", page: "")
        == "https://b.s3.eu-west-1.amazonaws.com/?delimiter=%2F&list-type=2&prefix=d%2Fe%20f%2F")
    #expect(try storage.learn("us-west-2", of: Address("s3://b/k")))
    #expect(try !storage.learn("us-west-2", of: Address("s3://b/k")), "once")
    #expect(try !storage.learn("evil/..", of: Address("s3://b/k")))
    #expect(try url("s3://b/k") == "https://b.s3.us-west-2.amazonaws.com/k")
    #expect(try url("s3://other/k") == "https://other.s3.eu-west-1.amazonaws.com/k")
  }

  @Test func refusals() {
    let body = Array(
      "<Error><Code>AccessDenied</Code><Message>It &lt;is&#x3E; so &amp; ends</Message></Error>".utf8)
    #expect(S3Answer.refusal(403, body).reason == "403 AccessDenied: It <is> so & ends")
    #expect(!S3Answer.refusal(403, body).isTransient)
    #expect(S3Answer.refusal(400, Array("<Code>ExpiredToken</Code><Message>m</Message>".utf8)).isExpiredLogin)
    #expect(S3Answer.refusal(403, []).reason == "403 ")
  }
}
