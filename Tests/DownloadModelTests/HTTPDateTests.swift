import DownloadModel
import Testing

@Suite("Dates of HTTP (RFC 9110 §5.6.7)")
struct HTTPDateTests {
  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Wednesday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
  ])
  func read(text: String, seconds: Int) { #expect(HTTPDate(text)?.seconds == Int64(seconds)) }

  @Test(arguments: [
    "", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
    "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 99999 08:49:37 GMT", "2024-02-29T23:59:59Z",
  ])
  func refused(text: String) { #expect(HTTPDate(text) == nil) }

  @Test(
    arguments: [
      (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
      (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
      (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
      (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
      (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
      (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
      (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT"),
    ] as [(Int64, String)])
  func written(seconds: Int64, text: String) {
    #expect(HTTPDate.text(seconds) == text)
  }
}
