import CCurl
import DownloadModel
import Glibc

/// A call of libcurl, or of the kernel for it, that failed before or outside a transfer.
struct CurlFailure: Error {
  let cause: DownloadError.Cause
  let message: String

  init(_ code: CURLcode) {
    message = String(cString: curl_easy_strerror(code))
    cause = .curl(code: Int32(code.rawValue), message: message)
  }

  init(_ code: CURLMcode) {
    message = String(cString: curl_multi_strerror(code))
    cause = .detail(message)
  }

  init(_ call: String, errno: Int32) {
    cause = .errno(errno)
    message = "\(call): \(String(cString: strerror(errno)))"
  }

  func error(_ activity: String = "starting the transfer") -> DownloadError {
    let isShortage = if case .errno(let number) = cause { DownloadError.isShortage(number) } else { false }
    return DownloadError(
      isShortage ? .resources : .transport, cause: cause, activity: activity, isTransient: isShortage)
  }
}
