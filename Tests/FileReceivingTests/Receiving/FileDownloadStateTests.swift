import DownloadModel
import TestSupport
import Testing

@testable import FileReceiving

/// Every phase with the events that may come in it.
@Suite("How a download stands between its requests and their answers")
struct FileDownloadStateTests {
  private static let strong = Validator(etag: "\"v1\"")
  private static let held = HeldPart(length: 1000, validator: strong, total: 5000)
  private static let known = KnownVersion(validator: strong)

  /// A state in which the request has been made.
  private static func asked(
    held: HeldPart = HeldPart(), known: KnownVersion? = nil
  ) throws -> FileDownloadState {
    var state = FileDownloadState()
    _ = try state.request(held: held, known: known)
    return state
  }

  @Test func whatIsAskedFollowsFromWhatIsThere() throws {
    #expect(try Self.asked().phase == .asked(.whole))
    #expect(try Self.asked(known: Self.known).phase == .asked(.conditional))
    #expect(try Self.asked(held: Self.held).phase == .asked(.rest(from: 1000, proof: .ifRange)))
  }

  struct Answered: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var held = HeldPart()
    var known: KnownVersion?
    var head: ResponseHead
    /// Nil where a failure is thrown.
    var reaction: ResumeDecision?
    var failure: DownloadError?
    var phase: FileDownloadState.Phase
    var doubts: FileDownloadState.Doubts = []
  }

  static let answers: [Answered] = {
    let busy = DownloadError(
      .status, cause: .http(status: 503), isTransient: true, retryAfter: .seconds(7))
    let gone = DownloadError(.status, cause: .http(status: 404))
    let rest = FileDownloadState.Phase.asked(.rest(from: 1000, proof: .ifRange))
    let range: KeyValuePairs = ["Content-Range": "bytes 1000-4999/5000", "ETag": "\"v1\""]
    return [
      Answered(
        testDescription: "the whole file", head: ResponseHead(status: 200, fields: ["Content-Length": "5"]),
        reaction: .startOver(total: 5), phase: .asked(.whole)),
      Answered(
        testDescription: "the rest of it", held: held, head: ResponseHead(status: 206, fields: range),
        reaction: .append(at: 1000, end: 5000, total: 5000), phase: rest),
      Answered(
        testDescription: "another range than was asked for", held: held,
        head: ResponseHead(status: 206, fields: ["Content-Range": "bytes 0-9/5000"]),
        reaction: .restart, phase: rest),
      Answered(
        testDescription: "the same version whole, in spite of If-Range", held: held,
        head: ResponseHead(status: 200, fields: ["ETag": "\"v1\"", "Accept-Ranges": "bytes"]),
        reaction: .askWithoutIfRange, phase: rest,
        doubts: .ifRange),
      Answered(
        testDescription: "nothing behind the last byte",
        held: HeldPart(length: 5000, validator: strong, total: 5000),
        head: ResponseHead(status: 416, fields: ["Content-Range": "bytes */5000"]),
        reaction: .answered(.complete), phase: .answered(.complete)),
      Answered(
        testDescription: "304", known: known, head: ResponseHead(status: 304, fields: ["ETag": "\"v1\""]),
        reaction: .answered(.unchanged), phase: .answered(.unchanged)),
      Answered(
        testDescription: "304 of another version", known: known,
        head: ResponseHead(status: 304, fields: ["ETag": "\"v2\""]),
        reaction: .answered(.meaningless), phase: .answered(.meaningless), doubts: .knownVersion),
      Answered(
        testDescription: "404", head: ResponseHead(status: 404, fields: [:]),
        reaction: .answered(.rejected(gone)), phase: .answered(.rejected(gone))),
      Answered(
        testDescription: "503, which ends at once with its Retry-After",
        head: ResponseHead(status: 503, fields: ["Retry-After": "7"]),
        failure: busy, phase: .asked(.whole)),
    ]
  }()

  @Test(arguments: answers) func answersAreJudged(row: Answered) throws {
    var state = try Self.asked(held: row.held, known: row.known)
    var (reaction, failure): (ResumeDecision?, DownloadError?)
    do throws(DownloadError) {
      reaction = try state.answer(row.head, held: row.held, known: row.known, now: 0)
    } catch { failure = error }
    #expect(reaction == row.reaction && failure == row.failure)
    #expect(state.phase == row.phase)
    #expect(state.doubts == row.doubts)
  }

  @Test func anAnswerToNoRequestEndsTheTransfer() throws {
    var state = FileDownloadState()
    let head = ResponseHead(status: 200, fields: [:])
    #expect(throws: DownloadError.cancelled) { try state.answer(head, held: HeldPart(), known: nil, now: 0) }
    #expect(state.phase == .idle)
  }

  struct Ended: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var body = FileDownloadState.Body()
    var length: Int64 = 0
    var total: Int64?
    var proof = Proof.length
    var isSplit = false
    /// Nil for too short a body.
    var finished: FileDownloadState.Finished?
  }

  static let ends: [Ended] = [
    Ended(testDescription: "as long as was said", length: 9, total: 9, finished: .whole(.length)),
    Ended(testDescription: "shorter", length: 8, total: 9),
    Ended(
      testDescription: "of a length that only the body's own head said",
      body: .init(end: 9), length: 9, finished: .whole(.length)),
    Ended(testDescription: "in chunks", length: 9, proof: .framing, finished: .whole(.framing)),
    Ended(
      testDescription: "until the connection closed", length: 9, proof: .nothing, finished: .whole(.nothing)),
    Ended(
      testDescription: "a shorter range than was asked for",
      body: .init(isRange: true, heldBefore: 2, end: 5), length: 5, total: 9, finished: .partly),
    Ended(
      testDescription: "a range that brought nothing", body: .init(isRange: true, heldBefore: 2, end: 2),
      length: 2, total: 9),
    Ended(
      testDescription: "in segments, some of which lack something", length: 5, total: 9, isSplit: true,
      finished: .partly),
    Ended(
      testDescription: "in segments, of which none has got on",
      body: .init(isRange: true, heldBefore: 5, end: 9), length: 5, total: 9, isSplit: true),
    Ended(
      testDescription: "in segments, all there", length: 9, total: 9, isSplit: true, finished: .whole(.length)
    ),
  ]

  @Test(arguments: ends) func endsAreJudged(row: Ended) throws {
    var state = try Self.asked()
    state.receive(row.body)
    func end() throws(DownloadError) -> FileDownloadState.Finished {
      try state.end(
        length: row.length, total: row.total, proof: row.proof, isSplit: row.isSplit, mayAskBehind: false)
    }
    guard let finished = row.finished else {
      let error = #expect(throws: DownloadError.self) { try end() }
      #expect(error?.code == .shortBody && error?.isTransient == true)
      return
    }
    #expect(try end() == finished)
    #expect(state.phase == .finished(finished))
    #expect(try end() == finished, "the end is judged once")
  }

  @Test func answersWithoutABodyEndAsTheySay() throws {
    let ends: [(FileDownloadState.Answer, FileDownloadState.Finished)] = [
      (.complete, .whole(.length)), (.unchanged, .unchanged), (.meaningless, .partly), (.skipped, .skipped),
    ]
    for (answer, finished) in ends {
      var state = try Self.asked()
      state.refuse(answer)
      #expect(
        try state.end(length: 0, total: nil, proof: .length, isSplit: false, mayAskBehind: true) == finished
      )
    }
    var state = try Self.asked()
    let gone = DownloadError(.status, cause: .http(status: 404))
    state.refuse(.rejected(gone))
    #expect(throws: gone) {
      try state.end(length: 0, total: nil, proof: .length, isSplit: false, mayAskBehind: true)
    }
    state = try Self.asked()
    let error = #expect(throws: DownloadError.self) {
      try state.end(length: 0, total: nil, proof: .length, isSplit: false, mayAskBehind: true)
    }
    #expect(error?.code == .badResponse)
  }

  /// A cut cannot be told from the end: a server that knows ranges is asked for what is behind it, but once.
  @Test func anUnprovenEndIsAskedAboutOnce() throws {
    var state = try Self.asked()
    for expected in [FileDownloadState.Finished.partly, .whole(.nothing)] {
      state.receive(.init())
      #expect(
        try state.end(length: 9, total: nil, proof: .nothing, isSplit: false, mayAskBehind: true) == expected
      )
      #expect(state.doubts == .end)
    }
  }

  @Test func whatIsDoubtedIsNotReliedOnAgain() throws {
    var state = try Self.asked(known: Self.known)
    try state.startAgain(without: .knownVersion)
    #expect(state.phase == .idle)
    _ = try state.request(held: HeldPart(), known: Self.known)
    #expect(state.phase == .asked(.whole))
    try state.startAgain(without: .ifRange)
    _ = try state.request(held: Self.held, known: nil)
    #expect(state.phase == .asked(.rest(from: 1000, proof: .sameValidator)))
    #expect(state.doubts == [.knownVersion, .ifRange])
  }

  @Test func whatIsClosedStaysClosed() throws {
    var state = try Self.asked()
    state.close()
    #expect(state.isClosed)
    #expect(throws: DownloadError.cancelled) { try state.request(held: HeldPart(), known: nil) }
    #expect(throws: DownloadError.cancelled) { try state.startAgain(without: .caches) }
    #expect(throws: DownloadError.cancelled) {
      try state.end(length: 0, total: nil, proof: .length, isSplit: false, mayAskBehind: false)
    }
    let head = ResponseHead(status: 200, fields: [:])
    #expect(throws: DownloadError.cancelled) { try state.answer(head, held: HeldPart(), known: nil, now: 0) }
    #expect(state.phase == .closed)
  }
}
