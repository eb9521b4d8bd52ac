import CCurl
import DownloadModel
import Testing

@testable import CurlTransport

@Suite("Replies of FTP servers, and the head that stands for them")
struct FTPRepliesTests {
  private static func replies(_ lines: String...) -> FTPReplies {
    Array(lines.map { $0 + "\r\n" }.joined().utf8).withUnsafeBytes { FTPReplies($0) }
  }

  @Test func theLastLineOfAReplyCounts() {
    let replies = Self.replies("220-Hello", " 550 not this one", "220 ready", "230", "331 password\u{1B}[31m please")
    #expect(replies.all.map(\.code) == [220, 331])
    #expect(replies.all.last?.text == "password\u{1B}[31m please")
  }

  /// Each row: the lines, the requested offset, and what they mean.
  @Test(
    arguments: [
      (["213 10", "150 go"], nil, FileServerAnswer(size: 10, modified: 5)),
      (["213 10", "350 ok", "125 go"], 4, FileServerAnswer(size: 10, modified: 5, start: 4)),
      (["213 10", "502 no", "150 go"], 4, FileServerAnswer(size: 10, modified: 5)),
      (["550 no", "350 ok", "150 go"], 4, FileServerAnswer(modified: 5, start: 4)),
      (["213 99999999999999999999", "150 go"], nil, FileServerAnswer(modified: 5)),
      (["213 -4", "150 go"], nil, FileServerAnswer(modified: 5)),
      (["213 10 bytes", "150 go"], nil, FileServerAnswer(modified: 5)),
      // The reply behind the data may be there, too.
      (["213 10", "150 go", "226 done"], nil, FileServerAnswer(size: 10, modified: 5)),
      ([], 4, FileServerAnswer(modified: 5)), (["150 go"], 4, FileServerAnswer(modified: 5)),
    ] as [([String], Int64?, FileServerAnswer)])
  func whatTheyMean(lines: [String], start: Int64?, meant: FileServerAnswer) {
    let bytes = Array(lines.map { $0 + "\r\n" }.joined().utf8)
    let replies = bytes.withUnsafeBytes { FTPReplies($0) }
    #expect(replies.answer(from: start, isRetrieved: true, modified: 5) == meant)
  }

  @Test(
    arguments: [
      (FileServerAnswer(size: 10, modified: 5), 200, "10", nil, "W/\"a-5\""),
      (FileServerAnswer(size: 10, modified: 5, start: 4), 206, "6", "bytes 4-9/10", "W/\"a-5\""),
      (FileServerAnswer(size: 10, modified: 5, start: 10), 416, nil, "bytes */10", "W/\"a-5\""),
      (FileServerAnswer(modified: 5, start: 4), 416, nil, "bytes */*", nil),
      (FileServerAnswer(size: 10), 200, "10", nil, nil), (FileServerAnswer(), 200, nil, nil, nil),
    ] as [(FileServerAnswer, Int, String?, String?, String?)])
  func theHead(answer: FileServerAnswer, status: Int, length: String?, range: String?, tag: String?) {
    let head = answer.head()
    #expect(head.status == status)
    #expect(head["content-length"] == length)
    #expect(head["content-range"] == range)
    #expect(head["etag"] == tag)
  }

  @Test func aKnownVersionIsUnchanged() {
    let answer = FileServerAnswer(size: 10, modified: 5)
    #expect(answer.isUnchanged(["Cache-Control: no-cache", "If-None-Match: W/\"a-5\""]))
    #expect(!answer.isUnchanged(["If-None-Match: W/\"a-6\""]))
    #expect(!FileServerAnswer(size: 10).isUnchanged(["If-None-Match: W/\"a-5\""]), "without a time nothing is known")
  }

  /// The code of the reply decides, where libcurl's means that there was one.
  @Test(arguments: [
    (CURLE_OPERATION_TIMEDOUT, "421 too many", true, true), (CURLE_RECV_ERROR, "421 bye", true, true),
    (CURLE_FTP_WEIRD_PASV_REPLY, "425 no connection", true, true), (CURLE_LOGIN_DENIED, "530 no", false, false),
    (CURLE_REMOTE_FILE_NOT_FOUND, "550 no such file", false, false),
    (CURLE_FTP_COULDNT_RETR_FILE, "450 busy", true, false),
  ])
  func failures(code: CURLcode, reply: String, isTransient: Bool, wasTurnedAway: Bool) throws {
    let failure = try #require(Self.replies("220 hello", reply).failure(code))
    #expect(failure.code == .status && failure.isTransient == isTransient && failure.wasTurnedAway == wasTurnedAway)
    #expect(failure.reason == reply)
  }

  @Test func otherFailuresAreLibcurls() {
    #expect(Self.replies("550 no size").failure(CURLE_RECV_ERROR) == nil)
    #expect(Self.replies("150 go").failure(CURLE_PARTIAL_FILE) == nil)
    #expect(Self.replies().failure(CURLE_COULDNT_CONNECT) == nil)
  }
}
