import Testing

@testable import dlm

@Suite("The word that was meant")
struct NearestWordTests {
  @Test(
    arguments: [
      ("gte", "get"), ("ge", "get"), ("gett", "get"), ("GET", "get"), ("fet", "get"), ("comapre", "compare"),
      ("comp", "compare"), ("compair", "compare"), ("cahce", "cache"), ("clearcache", "clear-cache"),
      ("clear_cache", "clear-cache"), ("dmeo", "demo"), ("nothere", nil), ("x", nil), ("", nil),
      ("urls.txt", nil), ("ls", nil), ("push", nil), (String(repeating: "get", count: 1000), nil),
    ] as [(String, String?)])
  func meant(typed: String, word: String?) {
    #expect(
      NearestWord.to(typed, among: ["get", "compare", "demo", "cache", "clear-cache"]) == word, "\(typed)")
  }

  @Test func theNearestOfSeveral() {
    #expect(NearestWord.to("max-sale", among: ["max-age", "max-stale", "max-filesize"]) == "max-stale")
    #expect(NearestWord.to("get", among: []) == nil)
    #expect(NearestWord.to("get", among: ["", "gut"]) == "gut")
  }
}
