import CCurl
import DownloadModel
import Glibc

/// One `CURL *`, cleaned up with its transfer, which must have left its multi handle by then.
struct EasyHandle: ~Copyable {
  let pointer: UnsafeMutableRawPointer

  init() throws(CurlFailure) {
    guard let pointer = curl_easy_init() else { throw CurlFailure(CURLE_FAILED_INIT) }
    self.pointer = pointer
  }

  deinit { curl_easy_cleanup(pointer) }

  func set(_ option: CURLoption, _ value: Int) throws(CurlFailure) {
    try check(dlm_setopt_long(pointer, option, value))
  }

  /// libcurl copies the text. (It would not copy CURLOPT_POSTFIELDS, which is not used.)
  func set(_ option: CURLoption, _ value: String?) throws(CurlFailure) {
    try check(dlm_setopt_string(pointer, option, value))
  }

  /// The pointer must stay valid as long as the option is set.
  func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) throws(CurlFailure) {
    try check(dlm_setopt_pointer(pointer, option, value))
  }

  /// The list must stay valid as long as the option is set.
  func set(_ option: CURLoption, list: borrowing HeaderLines) throws(CurlFailure) {
    try check(dlm_setopt_list(pointer, option, list.first))
  }

  func long(_ info: CURLINFO) -> Int {
    var value = 0
    // The call fails only for an unknown info or a null handle, and these typed calls can cause neither.
    return dlm_getinfo_long(pointer, info, &value) == CURLE_OK ? value : 0
  }

  func offset(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    return dlm_getinfo_offset(pointer, info, &value) == CURLE_OK ? Int64(value) : 0
  }

  /// The time that libcurl measured from the start of the request, plus `before` in microseconds; `nil` if it measured
  /// none.
  func time(_ info: CURLINFO, after before: Int64 = 0) -> Duration? {
    let time = offset(info)
    return time > 0 ? .microseconds(before + time) : nil
  }

  func text(_ info: CURLINFO) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard dlm_getinfo_pointer(pointer, info, &text) == CURLE_OK, let text else { return nil }
    return String(cString: text)
  }

  func list(_ info: CURLINFO) -> [String] {
    var first: UnsafeMutablePointer<curl_slist>?
    guard dlm_getinfo_list(pointer, info, &first) == CURLE_OK else { return [] }
    defer { curl_slist_free_all(first) }
    let lines = first.map { sequence(first: $0) { $0.pointee.next } }
    return lines.map { $0.compactMap { $0.pointee.data.map { String(cString: $0) } } } ?? []
  }

  /// Whether bytes arrived that libcurl has not read.
  var hasUnread: Bool {
    var socket = CURL_SOCKET_BAD
    return dlm_getinfo_socket(pointer, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK && hasSomethingToRead(socket)
  }

  var isConnected: Bool { offset(CURLINFO_PRETRANSFER_TIME_T) > 0 }

  /// Whether it reused a connection. Valid once its request has ended.
  var reusedConnection: Bool { long(CURLINFO_NUM_CONNECTS) == 0 }

  var details: TransferDetails {
    var details = TransferDetails()
    let port = long(CURLINFO_PRIMARY_PORT)
    if let address = text(CURLINFO_PRIMARY_IP), !address.isEmpty, port > 0 {
      details.peer = address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
    details.httpVersion =
      switch long(CURLINFO_HTTP_VERSION) {
      case Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0"
      case Int(CURL_HTTP_VERSION_1_1): "HTTP/1.1"
      case Int(CURL_HTTP_VERSION_2_0): "HTTP/2"
      default: nil
      }
    details.isReused = isConnected && reusedConnection
    if !details.isReused {
      details.lookedUp = time(CURLINFO_NAMELOOKUP_TIME_T)
      details.connected = time(CURLINFO_CONNECT_TIME_T)
      details.secured = time(CURLINFO_APPCONNECT_TIME_T)
    }
    details.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
    return details
  }

  /// Keeps only connections and cookies. The handle must have left its multi handle.
  func reset() { curl_easy_reset(pointer) }

  /// Ends a pause; must not be called in a callback. libcurl delivers the kept bytes at once. After an error the
  /// transfer must end.
  func goOn() -> CURLcode { curl_easy_pause(pointer, CURLPAUSE_CONT) }

  func check(_ code: CURLcode) throws(CurlFailure) {
    if code != CURLE_OK { throw CurlFailure(code) }
  }
}

struct HeaderLines: ~Copyable {
  let texts: [String]
  fileprivate(set) var first: UnsafeMutablePointer<curl_slist>?

  init(_ texts: [String]) throws(CurlFailure) { try self.init(texts, texts.map { Array($0.utf8) }) }

  /// Commands, whose names may be in any encoding.
  init(bytes: [[UInt8]]) throws(CurlFailure) { try self.init([], bytes) }

  private init(_ texts: [String], _ lines: [[UInt8]]) throws(CurlFailure) {
    self.texts = texts
    first = nil
    for line in lines {
      let text = (line + [0]).map { CChar(bitPattern: $0) }
      guard let longer = curl_slist_append(first, text) else {
        throw CurlFailure(CURLE_OUT_OF_MEMORY)  // deinit frees the earlier lines
      }
      first = longer
    }
  }

  deinit { curl_slist_free_all(first) }
}
