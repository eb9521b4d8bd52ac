import DownloadModel
import Testing

@Suite("No text for a person holds a login or what signs an address")
struct RedactionTests {
  @Test(arguments: [
    ("nothing to hide", "nothing to hide"),
    ("a@b = c", "a@b = c"),
    ("https://u:p@host/x", "https://host/x"),
    ("see https://u:p@host:8/x?a=1 and http://k@h", "see https://host:8/x?a=1 and http://h"),
    ("http://u:p@w@host/@scope/x@2", "http://host/@scope/x@2"),
    ("http://u:p w@host", "http://host"),
    ("Unsupported proxy syntax in 'socks9://u:p@h'", "Unsupported proxy syntax in 'socks9://h'"),
    // AWS, Google, Azure, CloudFront, and what services call their keys.
    (
      "https://b.s3/k?X-Amz-Date=1&X-Amz-Credential=AK%2F1&X-Amz-Security-Token=t&X-Amz-Signature=f",
      "https://b.s3/k?X-Amz-Date=1&X-Amz-Credential=…&X-Amz-Security-Token=…&X-Amz-Signature=…"
    ),
    (
      "https://b/k?AWSAccessKeyId=A&Signature=B&Expires=1",
      "https://b/k?AWSAccessKeyId=…&Signature=…&Expires=1"
    ),
    (
      "https://g/o?X-Goog-Credential=c&X-Goog-Signature=s",
      "https://g/o?X-Goog-Credential=…&X-Goog-Signature=…"
    ),
    ("https://a/blob?sv=1&se=2&sig=a%2Fb%3D", "https://a/blob?sv=1&se=2&sig=…"),
    ("https://c/f?Policy=p&Key-Pair-Id=k&Signature=s", "https://c/f?Policy=…&Key-Pair-Id=…&Signature=…"),
    (
      "https://h/x?token=1&access_token=2&api_key=3&apiKey=4",
      "https://h/x?token=…&access_token=…&api_key=…&apiKey=…"
    ),
    (
      "https://h/x?secret_key=1&private-key=2&passphrase=3&bearer=4&ticket=5&code=6&pw=7&passwd=8",
      "https://h/x?secret_key=…&private-key=…&passphrase=…&bearer=…&ticket=…&code=…&pw=…&passwd=…"
    ),
    (
      "https://h/x?token[]=1&auth[token]=2&token[0]=3&token%5B%5D=4&to%6Ben=5&%74OKEN=6&access%5ftoken=7",
      "https://h/x?token[]=…&auth[token]=…&token[0]=…&token%5B%5D=…&to%6Ben=…&%74OKEN=…&access%5ftoken=…"
    ),
    (
      "https://h/x?encode=1&a%zz=2&a[b]=3&postcode=4&%=5", "https://h/x?encode=1&a%zz=2&a[b]=3&postcode=4&%=5"
    ),
    (
      "https://h/x?auth_key=1&authkey=2&user_key=3&license_key=4&download_key=5&s3sig=6&sid=7",
      "https://h/x?auth_key=…&authkey=…&user_key=…&license_key=…&download_key=…&s3sig=…&sid=…"
    ),
    ("https://h/x?side=1&sort_key=2&inside=3", "https://h/x?side=1&sort_key=2&inside=3"),
    ("\"https://h/x?token=1\" is not a URL", "\"https://h/x?token=…\" is not a URL"),
    ("https://h/x?page=1&monkeys=2&signatures=3", "https://h/x?page=1&monkeys=2&signatures=3"),
  ])
  func texts(_ text: String, _ shown: String) {
    #expect(Redaction.redacted(text) == shown)
    #expect(Redaction.redacted(shown) == shown)
  }

  @Test(arguments: [
    ("user:pw@host/x", "host/x"),
    ("https:/user:pw@host/x", "host/x"),
    ("ftp://user:p/w@host/x", "ftp://host/x"),
    ("http://user:p/w@host/x", "http://host/x"),
    ("http://user:pw@host/@scope", "http://host/@scope"),
    ("user:p w\"x@host/x?token=a b\"c", "host/x?token=…"),
    ("host/x", "host/x"),
  ])
  func addresses(_ text: String, _ shown: String) { #expect(Redaction.redactedAddress(text) == shown) }

  @Test(arguments: [
    ("user:pw@host/x", true), ("user:p/w@host/x", true), ("urls@2.txt", false), ("./a:b@c", false),
    ("https://u:p@h/", false), ("C:x", false),
    ("https//u:p@h/x", true), ("sftp//me@h", true), ("a//b/c@d", false), (":@", false), ("dir/a:b@c", false),
  ])
  func logins(_ text: String, _ isOne: Bool) { #expect(Redaction.isLoginWithoutScheme(text) == isOne) }
}
