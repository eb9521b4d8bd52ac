import DownloadModel
import Synchronization

@testable import DownloadCaching

/// Files at addresses, served as a well-behaved server does: ranges, If-Range, conditional requests.
final class FakeServer: Sendable {
  struct File: Sendable {
    var body: [UInt8]
    var etag: String?
    var disposition: String?
  }

  private struct State {
    var files: [String: File] = [:]
    var requests: [TransferRequest] = []
    var cuts: [Int] = []
  }
  private let state = Mutex(State())

  func put(_ address: String, _ body: [UInt8], etag: String? = "\"v1\"", disposition: String? = nil) {
    state.withLock { $0.files[address] = File(body: body, etag: etag, disposition: disposition) }
  }

  func remove(_ address: String) { state.withLock { $0.files[address] = nil } }

  /// The next answer with a body breaks off after so many bytes.
  func cutNext(after count: Int) { state.withLock { $0.cuts.append(count) } }

  var requests: [TransferRequest] { state.withLock { $0.requests } }

  /// One attempt, as a scheduler's fetch makes it.
  func fetch(_ target: any DownloadTarget) throws(DownloadError) -> TransferReceipt {
    let request = try target.nextTransfer()
    let (answer, cut) = state.withLock { state -> (Answer, Int?) in
      state.requests.append(request)
      let answer = Self.answer(request, state.files[request.address.key])
      let cut = answer.chunks.isEmpty || state.cuts.isEmpty ? nil : state.cuts.removeFirst()
      return (answer, cut)
    }
    guard try target.accept(answer.head) != .drain else {
      return TransferReceipt(status: answer.head.status, bodyBytes: 0, framing: .length)
    }
    let body = answer.body
    try Answer.write(Array(body.prefix(cut ?? body.count)), to: target)
    if cut != nil { throw .lost }
    return TransferReceipt(status: answer.head.status, bodyBytes: Int64(body.count), framing: .length)
  }

  private static func answer(_ request: TransferRequest, _ file: File?) -> Answer {
    guard let file else { return Answer(404) }
    if let etag = file.etag, request.headerLines.contains("If-None-Match: \(etag)") {
      return Answer(304, ["ETag": etag])
    }
    let ranged = request.headerLines.allSatisfy {
      !$0.hasPrefix("If-Range") || $0 == "If-Range: \(file.etag ?? "")"
    }
    var answer: Answer
    if let start = request.rangeStart, ranged, start < file.body.count {
      answer = .rest(file.body, from: Int(start), etag: file.etag ?? "")
    } else if request.rangeStart != nil, ranged {
      answer = Answer(416, ["Content-Range": "bytes */\(file.body.count)"])
    } else {
      answer = .whole(file.body, etag: file.etag)
    }
    if let disposition = file.disposition {
      answer.head = ResponseHead(
        status: answer.head.status,
        block: Array("Content-Length: \(file.body.count)\r\nContent-Disposition: \(disposition)\r\n".utf8))
    }
    return answer
  }
}
