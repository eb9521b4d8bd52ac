import CCurl
public import DownloadModel
import Synchronization

/// The cookies of one run (RFC 6265), for all its transfers over all loops: cookies that a page sets go back to its
/// origin with the requests for the files that it leads to. libcurl judges domains, paths and public suffixes.
///
/// `@unchecked Sendable` is sound because: `share` and `locks` are set once and freed with the last reference, and
/// every easy handle that uses them holds a reference; libcurl accesses the data of `share` only between calls of the
/// lock functions that are set here (CURLSHOPT_LOCKFUNC), a mutex for each kind of data; `holdsAny` is an Atomic.
public final class CookieJar: @unchecked Sendable {
  let share: UnsafeMutableRawPointer
  private let locks: UnsafeMutablePointer<dlm_share_locks>
  private let holdsAny: Atomic<Bool>

  /// - Parameter lines: cookies of earlier runs, each a line of Netscape's format as curl writes it (seven fields
  ///   separated by tabs); lines that are not cookies are ignored.
  public init(_ lines: [String] = []) throws(DownloadError) {
    do throws(CurlFailure) {
      try CurlTransport.initializeLibrary()
      guard let share = curl_share_init() else { throw CurlFailure(CURLE_OUT_OF_MEMORY) }
      self.share = share
      locks = .allocate(capacity: 1)
      dlm_share_locks_init(locks)
      holdsAny = Atomic(!lines.isEmpty)
      // Fails only while easy handles use it.
      guard dlm_share_cookies(share, locks) == CURLSHE_OK else { throw CurlFailure(CURLE_OUT_OF_MEMORY) }
      if lines.isEmpty { return }
      let easy = try EasyHandle()
      try apply(to: easy)
      for line in lines { try easy.set(CURLOPT_COOKIELIST, line) }
      try easy.set(CURLOPT_SHARE, pointer: nil)
    } catch {
      throw DownloadError(
        .transport, cause: .curl(code: Int32(error.code.rawValue), message: error.message),
        activity: "preparing cookies")
    }
  }

  deinit {
    guard curl_share_cleanup(share) == CURLSHE_OK else {
      // Leaked rather than freed while a handle uses it.
      return assertionFailure("a handle still uses the cookies")
    }
    dlm_share_locks_destroy(locks)
    locks.deallocate()
  }

  /// All cookies, session cookies included, in Netscape's format. Secrets.
  public func lines() throws(DownloadError) -> [String] {
    do throws(CurlFailure) {
      let easy = try EasyHandle()
      try apply(to: easy)
      let lines = easy.list(CURLINFO_COOKIELIST)
      try easy.set(CURLOPT_SHARE, pointer: nil)
      return lines
    } catch {
      throw DownloadError(
        .transport, cause: .curl(code: Int32(error.code.rawValue), message: error.message),
        activity: "reading the cookies")
    }
  }

  /// Whether requests may have carried a cookie: one was loaded at the start, or a server has set one.
  public var holdsCookies: Bool { holdsAny.load(ordering: .relaxed) }

  func serverDidSetOne() { holdsAny.store(true, ordering: .relaxed) }

  /// The handle must drop the share (CURLOPT_SHARE) before handle and jar are released.
  func apply(to easy: borrowing EasyHandle) throws(CurlFailure) {
    try easy.set(CURLOPT_SHARE, pointer: share)
    // An empty file name enables the cookie engine without a file.
    try easy.set(CURLOPT_COOKIEFILE, "")
  }
}
