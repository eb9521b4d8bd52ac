/// What connections to a host need beyond the usual, as their first failure shows.
struct ConnectionWay: OptionSet {
  let rawValue: Int

  /// Trust the folder of certificates (CURLOPT_CAPATH) beside the file. libcurl (7.87 and later) keeps the certificates
  /// that it has parsed for further connections, but not with a folder; to parse the system's file takes 25 ms.
  static let folder = ConnectionWay(rawValue: 1)
  /// Speak HTTP/1.1: the server ended HTTP/2 unanswered, as by GOAWAY with HTTP_1_1_REQUIRED (RFC 9113 §7).
  static let http1 = ConnectionWay(rawValue: 2)
}
