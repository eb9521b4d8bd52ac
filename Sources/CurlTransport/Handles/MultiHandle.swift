import CCurl
import Glibc

/// One `CURLM *`, used on its loop's thread only. Transfers must have left it before it is cleaned up.
struct MultiHandle: ~Copyable {
  private(set) var pointer: UnsafeMutableRawPointer?

  init() throws(CurlFailure) {
    pointer = curl_multi_init()
    if pointer == nil { throw CurlFailure(CURLM_OUT_OF_MEMORY) }
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

  func set(_ option: CURLMoption, _ value: Int) throws(CurlFailure) {
    try check(dlm_multi_setopt_long(pointer, option, value))
  }

  func add(_ easy: borrowing EasyHandle) throws(CurlFailure) {
    try check(curl_multi_add_handle(pointer, easy.pointer))
  }

  func remove(_ easy: borrowing EasyHandle) throws(CurlFailure) {
    try check(curl_multi_remove_handle(pointer, easy.pointer))
  }

  /// Lets libcurl act on one socket, or on its due timers with `CURL_SOCKET_TIMEOUT`.
  func act(on socket: Int32, _ bits: Int32) throws(CurlFailure) {
    var running: Int32 = 0
    try check(curl_multi_socket_action(pointer, socket, bits, &running))
  }

  func actOnAll() throws(CurlFailure) { try check(dlm_multi_act_on_all(pointer)) }

  func nextFinished() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(pointer, &left) {
      if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
        return (easy, dlm_message_result(message))
      }
    }
    return nil
  }

  func check(_ code: CURLMcode) throws(CurlFailure) {
    if code != CURLM_OK { throw CurlFailure(code) }
  }
}
