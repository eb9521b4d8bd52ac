import Testing

@testable import FileReceiving

@Suite("Two addresses lead to one resource where only their signatures differ (HTTP rule 27)")
struct EffectiveURLTests {
  @Test(arguments: [
    ("http://h/x", "http://h/x?"),
    (
      "http://h/x?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=1&X-Amz-Signature=a",
      "http://h/x?X-Amz-Signature=b&X-Amz-Date=2"
    ),
    ("http://h/x?v=1&X-Amz-Signature=a", "http://h/x?v=1&x-amz-signature=b"),
    ("http://h/x?X-Goog-Signature=a&X-Goog-Expires=9", "http://h/x"),
    ("http://h/x?Expires=1&Signature=a&Key-Pair-Id=k", "http://h/x?Policy=p&Signature=b&Key-Pair-Id=k"),
    ("http://h/x?AWSAccessKeyId=k&Expires=1&Signature=a", "http://h/x"),
    ("http://h/x?GoogleAccessId=k&Expires=1&Signature=a", "http://h/x"),
    ("http://h/x?sv=1&se=2&sr=b&sp=r&sig=a&jwt=t", "http://h/x?sp=r&sv=2&se=9&sig=b"),
    ("http://h/x?a=1&b=2", "http://h/x?a=1&b=2"),
  ])
  func areOne(left: String, right: String) {
    #expect(EffectiveURL.name(left) == EffectiveURL.name(right))
  }

  @Test(arguments: [
    ("http://h/x?v=1", "http://h/x?v=2"), ("http://h/x?v=1", "http://h/x"), ("http://h/x", "http://h/y"),
    ("http://h/x", "http://g/x"), ("http://h/x", "https://h/x"),
    ("http://h/x?v=1&X-Amz-Signature=a", "http://h/x?v=2&X-Amz-Signature=a"),
    // Without what makes it the scheme's signature, such a parameter may choose the file.
    ("http://h/x?se=stable", "http://h/x?se=beta"), ("http://h/x?Expires=1", "http://h/x?Expires=2"),
    ("http://h/x?Policy=a&Signature=1", "http://h/x?Policy=b&Signature=1"),
    ("http://h/x?X-Amz-Date=1", "http://h/x?X-Amz-Date=2"), ("http://h/x?sig=1", "http://h/x?sig=2"),
  ])
  func areTwo(left: String, right: String) {
    #expect(EffectiveURL.name(left) != EffectiveURL.name(right))
  }

  @Test func aQueryIsNotStored() {
    let name = EffectiveURL.name("http://h/x?token=s3cret&X-Amz-Signature=s3cret")
    #expect(name.hasPrefix("http://h/x?~"))
    #expect(!name.contains("s3cret"))
  }
}
