public import DownloadModel

/// What an answer means for the bytes on disk: a pure ladder from what was asked, what is held and the head.
enum ResumeDecision: Equatable {
  /// Write the body from this offset on; it ends before `end`.
  case append(at: Int64, end: Int64, total: Int64?)
  /// The body is the whole file: what is there is given up, in this same answer (http.md 2).
  case startOver(total: Int64?)
  /// The part was whole already (416 with the same length).
  case complete
  /// 304: the finished file on disk is the current version.
  case unchanged
  /// 304 of another resource, or of another version: it says nothing of the file on disk. Ask again without validators;
  /// nothing has failed.
  case askUnconditionally
  /// The part cannot be continued by this answer: give it up and ask again for the whole file.
  case restart
  /// The server knows the version but not If-Range: ask once more without it.
  case askWithoutIfRange
  case reject(DownloadError)

  /// - Parameters:
  ///   - known: what a conditional request was about.
  ///   - now: seconds since 1970, for a Retry-After that is a date.
  static func decide(
    asked: TransferPlan.Asked, held: HeldPart, known: KnownVersion? = nil, head: ResponseHead, now: Int64
  ) -> ResumeDecision {
    switch head.status {
    // 203: the same by way of a proxy that changed something; the body is what can be had.
    case 200, 203: wholeFile(asked: asked, held: held, head: head)
    // Not content of no length, but none at all (RFC 9110 §15.3.5): the file is empty, and that is said.
    case 204: .startOver(total: 0)
    // Created, accepted, reset, states of many resources, deltas: none of them is the file.
    case 201, 202, 205, 207, 208, 226: .reject(DownloadError(.badResponse, cause: .http(status: head.status)))
    case 206: partialContent(asked: asked, held: held, head: head)
    case 304 where asked == .conditional:
      known?.isConfirmed(by: head) == true ? .unchanged : .askUnconditionally
    case 416: unsatisfiedRange(asked: asked, held: held, head: head)
    // Of a class that is understood: as the first of it (RFC 9110 §15).
    case 209..<300: wholeFile(asked: asked, held: held, head: head)
    case 300..<400: .reject(DownloadError(.badResponse, cause: .http(status: head.status)))
    default: .reject(failure(head, now: now))
    }
  }

  private static func wholeFile(
    asked: TransferPlan.Asked, held: HeldPart, head: ResponseHead
  ) -> ResumeDecision {
    // Only where the server claims to know ranges: others would be asked twice for nothing.
    if case .rest(_, .ifRange) = asked, held.validator.isStronglyEqual(to: Validator(head)),
      head["accept-ranges"]?.lowercased() == "bytes"
    {
      return .askWithoutIfRange
    }
    // Content-Length means nothing beside Transfer-Encoding (RFC 9112 §6.3).
    return .startOver(total: head["transfer-encoding"] == nil ? head.contentLength : nil)
  }

  private static func partialContent(
    asked: TransferPlan.Asked, held: HeldPart, head: ResponseHead
  ) -> ResumeDecision {
    let answered = head.contentRange
    guard case .rest(let from, let proof) = asked else {
      // Nobody asked for a part; one that is the whole will do.
      if let range = answered?.range, range.lowerBound == 0, let length = answered?.completeLength,
        range.upperBound == length - 1
      {
        return .startOver(total: length)
      }
      return .reject(DownloadError(.badResponse, cause: .http(status: 206), isPassing: true))
    }
    guard let range = answered?.range, range.lowerBound == from, range.upperBound < .max else {
      return .restart
    }
    if let held = held.total, let now = answered?.completeLength, held != now { return .restart }
    guard (head.isIdentityEncoded ? nil : head["content-encoding"]) == held.encoding else { return .restart }
    let validator = Validator(head)
    // A tail is compared where there is no strong tag: then tag and date are to be what they were (http.md 34).
    if proof == .tail ? !held.validator.isWeaklyEqual(to: validator) : held.validator.contradicts(validator) {
      return .restart
    }
    // Validators belong to the address that gave them (http.md 9): of another one only a strong tag that it repeats
    // itself says that it has the same file. Mirrors often share dates, and a date is no name.
    let isElsewhere = head.effectiveURL != held.answeredBy
    if isElsewhere, held.validator.strongETag == nil { return .restart }
    if proof == .sameValidator || isElsewhere, !held.validator.isStronglyEqual(to: validator) {
      return .restart
    }
    return .append(
      at: from, end: range.upperBound + 1, total: answered?.completeLength ?? held.total)
  }

  private static func unsatisfiedRange(
    asked: TransferPlan.Asked, held: HeldPart, head: ResponseHead
  ) -> ResumeDecision {
    guard case .rest(_, let proof) = asked else {
      return .reject(DownloadError(.badResponse, cause: .http(status: 416)))
    }
    // Equal length alone proves nothing unless the server compared the version, or it names the same one.
    guard head.contentRange?.completeLength == held.length, held.total ?? held.length == held.length,
      !held.validator.contradicts(Validator(head)),
      proof == .ifRange && head.effectiveURL == held.answeredBy
        || held.validator.isStronglyEqual(to: Validator(head))
    else { return .restart }
    return .complete
  }

  static func failure(_ head: ResponseHead, now: Int64) -> DownloadError {
    let isPassing = HTTPStatus.mayPass(head.status)
    return DownloadError(
      .status, cause: .http(status: head.status), isPassing: isPassing,
      retryAfter: isPassing ? head["retry-after"].flatMap { RetryAfter.duration($0, now: now) } : nil)
  }
}

extension ResponseHead {
  /// What an answer is that brings nothing: the rules of a file's, for whatever else is fetched.
  /// - Parameter now: seconds since 1970, for a `Retry-After` that names a date.
  public func failure(now: Int64) -> DownloadError { ResumeDecision.failure(self, now: now) }
}
