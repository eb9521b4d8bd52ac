import CCurl

/// One `CURL *`: owned by exactly one transfer and cleaned up with it. It must have left its multi handle by
/// then, which CurlTransfer sees to.
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

  /// The list must live as long as the option is set.
  func set(_ option: CURLoption, list: borrowing HeaderLines) throws(CurlFailure) {
    try check(dlm_setopt_list(pointer, option, list.first))
  }

  func long(_ info: CURLINFO) -> Int {
    var value = 0
    // The only failures are an unknown info or a null handle: neither can be written with these typed calls.
    guard dlm_getinfo_long(pointer, info, &value) == CURLE_OK else { return 0 }
    return value
  }

  func offset(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    guard dlm_getinfo_offset(pointer, info, &value) == CURLE_OK else { return 0 }
    return Int64(value)
  }

  func string(_ info: CURLINFO) -> String? {
    var value: UnsafeMutablePointer<CChar>?
    guard dlm_getinfo_string(pointer, info, &value) == CURLE_OK, let value else { return nil }
    return String(cString: value)
  }

  /// Its lines; none where libcurl has none.
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

  /// As new, but for connections and cookies (curl_easy_reset). It must have left its multi handle.
  func reset() { curl_easy_reset(pointer) }

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
        throw CurlFailure(CURLE_OUT_OF_MEMORY)  // deinit frees what there was
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
