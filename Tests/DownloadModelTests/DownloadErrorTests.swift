import DownloadModel
import Testing

@Suite("Which failures another source of the same file may not have")
struct DownloadErrorTests {
  static let rows: [(code: DownloadError.Code, isOfSource: Bool)] = [
    (.resolve, true), (.connect, true), (.tls, true), (.certificate, true), (.pinnedKey, true), (.timeout, true),
    (.stalled, true), (.unanswered, true), (.reset, true), (.redirect, true), (.status, true), (.range, true),
    (.badResponse, true), (.shortBody, true), (.longBody, true), (.digest, true), (.unproven, true),
    (.wrongType, true), (.tooSlow, true), (.clientCertificate, true), (.proxy, true), (.badAddress, true),
    (.transport, true),
    (.tookTooLong, false), (.tooLarge, false), (.cancelled, false), (.skipped, false), (.closed, false),
    (.configuration, false), (.disk, false), (.diskFull, false), (.folder, false), (.conflict, false),
    (.cache, false), (.resources, false),
  ]

  @Test(arguments: rows) func isOfSource(code: DownloadError.Code, isOfSource: Bool) {
    #expect(DownloadError(code).isOfSource == isOfSource)
  }
}
