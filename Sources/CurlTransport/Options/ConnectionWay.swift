/// Special requirements of connections to a host, as their first failure showed.
struct ConnectionWay: OptionSet {
  let rawValue: Int

  /// Trust the folder of certificates (CURLOPT_CAPATH) beside the file. libcurl (7.87 and later) reuses the parsed
  /// certificates of a file for further connections, but not with a folder; parsing the system's file takes 25 ms.
  static let folder = ConnectionWay(rawValue: 1)
  /// Use HTTP/1.1: the server ended HTTP/2 unanswered, for example by GOAWAY with HTTP_1_1_REQUIRED (RFC 9113 §7).
  static let http1 = ConnectionWay(rawValue: 2)
}
