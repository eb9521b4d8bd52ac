import DownloadModel
import Testing

@Suite("Header fields that only dlm itself sends (HTTP rule 42)")
struct ReservedMatterTests {
  @Test(
    arguments: [
      ("range", .range), ("if-range", .range),
      ("if-none-match", .condition), ("if-modified-since", .condition), ("if-match", .condition),
      ("if-unmodified-since", .condition),
      ("accept-encoding", .coding), ("content-length", .body), ("transfer-encoding", .body),
      ("expect", .body),
      ("proxy-authorization", .proxyLogin),
      // Anybody's.
      ("authorization", nil), ("cookie", nil), ("accept", nil), ("host", nil), ("x-range", nil),
      ("ranges", nil),
      ("", nil),
      // Names come in lower case.
      ("Range", nil),
    ] as [(String, ReservedMatter?)])
  func table(field: String, matter: ReservedMatter?) { #expect(ReservedMatter(field: field) == matter) }
}
