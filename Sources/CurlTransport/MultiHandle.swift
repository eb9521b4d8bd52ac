import CCurl

/// One `CURLM *`, used by its loop's thread only. Transfers have left it before it is cleaned up: the loop's
/// teardown sees to the order.
struct MultiHandle: ~Copyable {
  private var pointer: UnsafeMutableRawPointer?

  init() throws(MultiFailure) {
    pointer = curl_multi_init()
    if pointer == nil { throw MultiFailure(CURLM_OUT_OF_MEMORY) }
  }

  deinit {
    // Only a loop that never started gets here with a pointer: it has no transfers.
    if let pointer { curl_multi_cleanup(pointer) }
  }

  /// Closes the kept connections, which calls back for each socket. Calls after it answer CURLM_BAD_HANDLE.
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

  /// The next transfer that ended: its easy handle and how.
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
