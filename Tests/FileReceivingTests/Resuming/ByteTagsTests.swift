import DownloadModel
import Testing

@testable import FileReceiving

@Suite("Entity tags are bytes (HTTP rule 52)")
struct ByteTagsTests {
  @Test(arguments: [("\"\u{E9}\"", "\"e\u{301}\""), ("\"\u{212B}\"", "\"\u{C5}\"")])
  func twoNormalForms(one: String, other: String) {
    let (left, right) = (Validator(etag: one), Validator(etag: other))
    #expect(!left.isStronglyEqual(to: right) && left.contradicts(right))
    #expect(!left.isWeaklyEqual(to: Validator(etag: "W/" + other)))
    #expect(left.isStronglyEqual(to: left) && !left.contradicts(left))
  }
}
