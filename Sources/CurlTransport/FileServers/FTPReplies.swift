import CCurl
import DownloadModel

/// The replies of an FTP server to the commands of one transfer (RFC 959 §4.2).
struct FTPReplies {
  struct Reply: Equatable {
    let code: Int
    /// The last line without its code, shortened. It may have any characters.
    let text: String
  }

  /// In bytes: what a message shows of a reply.
  private static let longestText = 160

  let all: [Reply]

  /// - Parameter lines: as received. The last line of each reply has its code and a blank (RFC 959 §4.2).
  init(_ lines: UnsafeRawBufferPointer) {
    all = lines.split(separator: 0x0A).compactMap { line in
      guard line.count >= 4, line.prefix(3).allSatisfy(\.isDigit), line[line.startIndex + 3] == 0x20,
        let code = Int(String(utf8: line.prefix(3)))
      else { return nil }
      let text = OptionalWhiteSpace.trimmed(line.dropFirst(4).filter { $0 != 0x0D }.prefix(Self.longestText))
      return Reply(code: code, text: String(utf8: text))
    }
  }

  /// The commands that dlm adds to libcurl's own, in their order, directly before RETR. A leading `*` lets the transfer
  /// continue if the server refuses the command.
  /// - Parameter name: of the file in its folder.
  static func commands(for name: [UInt8], from start: Int64?) -> [[UInt8]] {
    ["*SIZE ".utf8 + name] + [start.map { Array("*REST \($0)".utf8) }].compactMap(\.self)
  }

  /// What the server said about the file.
  /// - Parameters:
  ///   - start: the offset in `commands`.
  ///   - isRetrieved: whether RETR followed the commands.
  func answer(from start: Int64?, isRetrieved: Bool, modified: Int64?) -> FileServerAnswer {
    var own = all[...]
    if isRetrieved { own = own.prefix(through: own.lastIndex { (100..<200).contains($0.code) } ?? -1).dropLast() }
    let isRestarted = start != nil && own.popLast()?.code == 350
    let size = own.last.flatMap { $0.code == 213 ? Int64($0.text) : nil }
    return FileServerAnswer(
      size: size.flatMap { (0...ResponseHead.longestFile).contains($0) ? $0 : nil }, modified: modified,
      start: isRestarted ? start : nil)
  }

  /// The failure that the last reply means; `nil` if libcurl's code says more.
  func failure(_ code: CURLcode) -> DownloadError? {
    guard let reply = all.last, reply.code >= 400, Self.isAboutReply(code, reply.code) else { return nil }
    let isRefusal = [421, 425].contains(reply.code)
    return DownloadError(
      .status, cause: .reply(code: reply.code, text: reply.text), isTransient: reply.code < 500,
      wasTurnedAway: isRefusal)
  }

  private static func isAboutReply(_ code: CURLcode, _ reply: Int) -> Bool {
    switch code {
    case CURLE_REMOTE_FILE_NOT_FOUND, CURLE_LOGIN_DENIED, CURLE_REMOTE_ACCESS_DENIED, CURLE_FTP_COULDNT_RETR_FILE,
      CURLE_WEIRD_SERVER_REPLY, CURLE_FTP_WEIRD_PASS_REPLY, CURLE_FTP_WEIRD_PASV_REPLY, CURLE_FTP_WEIRD_227_FORMAT,
      CURLE_FTP_COULDNT_SET_TYPE, CURLE_QUOTE_ERROR, CURLE_USE_SSL_FAILED, CURLE_FTP_PRET_FAILED:
      true
    // libcurl calls a 421 a timeout, and some servers close the connection behind it.
    case CURLE_OPERATION_TIMEDOUT, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING: reply == 421
    default: false
    }
  }
}
