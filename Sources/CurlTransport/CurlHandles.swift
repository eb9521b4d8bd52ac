import CCurl

/// One `CURL *`, owned by exactly one transfer and cleaned up with it. It must have left its multi handle by then;
/// CurlTransfer's owner ensures that.
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

  func set(_ option: CURLoption, _ value: Bool) throws(CurlFailure) {
    try check(dlm_setopt_long(pointer, option, value ? 1 : 0))
  }

  /// libcurl copies the text (CURLOPT_POSTFIELDS, which it would not copy, is not used).
  func set(_ option: CURLoption, _ value: String?) throws(CurlFailure) {
    try check(dlm_setopt_string(pointer, option, value))
  }

  /// The pointer must live as long as the option is set.
  func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) throws(CurlFailure) {
    try check(dlm_setopt_pointer(pointer, option, value))
  }

  func set(_ option: CURLoption, callback: dlm_data_callback) throws(CurlFailure) {
    try check(dlm_setopt_data_callback(pointer, option, callback))
  }

  func setCloseCallback(_ callback: dlm_close_callback) throws(CurlFailure) {
    try check(dlm_setopt_close_callback(pointer, callback))
  }

  func setOpenCallback(_ callback: dlm_open_callback) throws(CurlFailure) {
    try check(dlm_setopt_open_callback(pointer, callback))
  }

  func setRequestCallback(_ callback: dlm_request_callback) throws(CurlFailure) {
    try check(dlm_setopt_request_callback(pointer, callback))
  }

  /// The list must live as long as the option is set.
  func set(_ option: CURLoption, list: borrowing HeaderLines) throws(CurlFailure) {
    try check(dlm_setopt_list(pointer, option, list.first))
  }

  func long(_ info: CURLINFO) -> Int {
    var value = 0
    // The only failures are an unknown info or a null handle, and these typed calls can cause neither.
    guard dlm_getinfo_long(pointer, info, &value) == CURLE_OK else { return 0 }
    return value
  }

  func offset(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    guard dlm_getinfo_offset(pointer, info, &value) == CURLE_OK else { return 0 }
    return Int64(value)
  }

  /// A text of libcurl's; nil where it has none.
  func text(_ info: CURLINFO) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard dlm_getinfo_pointer(pointer, info, &text) == CURLE_OK, let text else { return nil }
    return String(cString: text)
  }

  /// The lines of a list; none where libcurl has none.
  func list(_ info: CURLINFO) -> [String] {
    var first: UnsafeMutablePointer<curl_slist>?
    guard dlm_getinfo_list(pointer, info, &first) == CURLE_OK else { return [] }
    defer { curl_slist_free_all(first) }
    var lines: [String] = []
    var next = first
    while let line = next {
      if let text = line.pointee.data { lines.append(String(cString: text)) }
      next = line.pointee.next
    }
    return lines
  }

  /// Resets the handle to its initial state, except for connections and cookies (curl_easy_reset). It must have left
  /// its multi handle.
  func reset() { curl_easy_reset(pointer) }

  /// Ends a pause: libcurl delivers at once what it kept. Not inside of a callback.
  /// - Returns: another code than CURLE_OK where that was refused: then the transfer must end.
  func goOn() -> CURLcode { curl_easy_pause(pointer, CURLPAUSE_CONT) }

  private func check(_ code: CURLcode) throws(CurlFailure) {
    if code != CURLE_OK { throw CurlFailure(code) }
  }
}

/// A `curl_slist` of header lines, freed with its owner.
struct HeaderLines: ~Copyable {
  fileprivate(set) var first: UnsafeMutablePointer<curl_slist>?

  init(_ lines: some Sequence<String>) throws(CurlFailure) {
    first = nil
    for line in lines {
      guard let longer = curl_slist_append(first, line) else {
        throw CurlFailure(CURLE_OUT_OF_MEMORY)  // deinit frees the earlier lines
      }
      first = longer
    }
  }

  deinit { curl_slist_free_all(first) }
}

/// A libcurl call that failed before or outside a transfer.
struct CurlFailure: Error {
  let code: CURLcode
  init(_ code: CURLcode) { self.code = code }
  var message: String { String(cString: curl_easy_strerror(code)) }
}

/// One `CURLM *`, used on its loop's thread only. Transfers must have left it before it is cleaned up; the loop's
/// teardown ensures the order.
struct MultiHandle: ~Copyable {
  private var pointer: UnsafeMutableRawPointer?

  init() throws(MultiFailure) {
    pointer = curl_multi_init()
    if pointer == nil { throw MultiFailure(CURLM_OUT_OF_MEMORY) }
  }

  deinit {
    // Only a loop that never started still has a pointer here, and it has no transfers.
    if let pointer { curl_multi_cleanup(pointer) }
  }

  /// Closes the kept connections, which calls back for each socket. Later calls return CURLM_BAD_HANDLE.
  mutating func close() {
    guard let multi = pointer else { return }
    pointer = nil
    let code = curl_multi_cleanup(multi)
    assert(code == CURLM_OK, "cleaned up from inside a callback")
  }

  func onSocket(_ callback: dlm_socket_callback, context: UnsafeMutableRawPointer) throws(MultiFailure) {
    try check(dlm_multi_set_socket_callback(pointer, callback, context))
  }

  func onTimer(_ callback: dlm_timer_callback, context: UnsafeMutableRawPointer) throws(MultiFailure) {
    try check(dlm_multi_set_timer_callback(pointer, callback, context))
  }

  func set(_ option: CURLMoption, _ value: Int) throws(MultiFailure) {
    try check(dlm_multi_setopt_long(pointer, option, value))
  }

  func add(_ easy: borrowing EasyHandle) throws(MultiFailure) {
    try check(curl_multi_add_handle(pointer, easy.pointer))
  }

  func remove(_ easy: borrowing EasyHandle) throws(MultiFailure) {
    try check(curl_multi_remove_handle(pointer, easy.pointer))
  }

  /// Lets libcurl act on one socket, or on its due timers with `CURL_SOCKET_TIMEOUT`.
  func act(on socket: Int32, _ bits: Int32) throws(MultiFailure) {
    var running: Int32 = 0
    try check(curl_multi_socket_action(pointer, socket, bits, &running))
  }

  /// The next transfer that ended: its easy handle and its result.
  func nextFinished() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(pointer, &left) {
      if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
        return (easy, dlm_message_result(message))
      }
    }
    return nil
  }

  private func check(_ code: CURLMcode) throws(MultiFailure) {
    if code != CURLM_OK { throw MultiFailure(code) }
  }
}

struct MultiFailure: Error {
  let code: CURLMcode
  init(_ code: CURLMcode) { self.code = code }
  var message: String { String(cString: curl_multi_strerror(code)) }
}
