import CCurl
package import DownloadModel
import Glibc
import Synchronization

/// One `CURLSH *`: the cookies of one run (RFC 6265), shared by all its loops. libcurl checks domains, paths and public
/// suffixes.
package final class CookieJar: Sendable {
  private let cookies: dlm_cookies
  private let holdsAny: Atomic<Bool>

  /// - Parameter lines: cookies in Netscape's format (seven fields separated by tabs); other lines are ignored.
  package init(_ lines: [String] = []) throws(DownloadError) {
    var cookies = dlm_cookies()
    let code = CurlTransport.libraryCode == CURLE_OK ? dlm_cookies_init(&cookies) : CurlTransport.libraryCode
    self.cookies = cookies
    holdsAny = Atomic(!lines.isEmpty)
    guard code == CURLE_OK else { throw CurlFailure(code).error("preparing cookies") }
    if lines.isEmpty { return }
    try withHandle("preparing cookies") { easy throws(CurlFailure) in
      for line in lines { try easy.set(CURLOPT_COOKIELIST, line) }
    }
  }

  deinit {
    let isFreed = dlm_cookies_free(cookies)
    assert(isFreed, "a handle still uses the cookies")
  }

  /// All cookies, session cookies included, in Netscape's format. They are secrets.
  package func lines() throws(DownloadError) -> [String] {
    try withHandle("reading the cookies") { $0.list(CURLINFO_COOKIELIST) }
  }

  /// Whether requests may have carried a cookie: one was loaded at the start, or a server has set one.
  package var holdsCookies: Bool { holdsAny.load(ordering: .relaxed) }

  func serverDidSetOne() { holdsAny.store(true, ordering: .relaxed) }

  /// The handle must drop the share (CURLOPT_SHARE) before handle and jar are released.
  func apply(to easy: borrowing EasyHandle) throws(CurlFailure) {
    try easy.set(CURLOPT_SHARE, pointer: cookies.share)
    // An empty file name enables the cookie engine without a file.
    try easy.set(CURLOPT_COOKIEFILE, "")
  }

  private func withHandle<Value>(
    _ activity: String, _ body: (borrowing EasyHandle) throws(CurlFailure) -> Value
  ) throws(DownloadError) -> Value {
    do {
      let easy = try EasyHandle()
      try apply(to: easy)
      let value = try body(easy)
      try easy.set(CURLOPT_SHARE, pointer: nil)
      return value
    } catch {
      throw error.error(activity)
    }
  }
}
