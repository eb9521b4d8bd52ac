package import DownloadModel

/// The request of the next attempt, given the bytes on disk.
package struct TransferPlan: Equatable {
  package enum Asked: Equatable {
    case whole
    /// The file, only if it changed (If-None-Match, If-Modified-Since).
    case conditional
    case rest(from: Int64, proof: Proof)
  }

  /// How the rest is proved to belong to the part.
  package enum Proof {
    /// The server compares the validator (If-Range).
    case ifRange
    /// The answer's own validator, because this server answers If-Range with the whole file.
    case sameValidator
    /// Nothing identifies the version, or only a weak validator: the part's last bytes are downloaded again and
    /// compared.
    case tail
    /// The checksum of the file or of its pieces, whichever source the part is from.
    case digest
  }

  var asked: Asked
  var headerLines: [String] = []

  /// Bytes downloaded twice without a strong validator: 64 KiB is little to send and enough to differ.
  static let tailLength: Int64 = 65_536

  static func make(
    held: HeldPart, ifRangeIsRefused: Bool, known: KnownVersion?, byDigest: Bool = false
  ) -> TransferPlan {
    let whole = TransferPlan(asked: .whole)
    if held.length == 0, !byDigest {
      return known?.condition.map { TransferPlan(asked: .conditional, headerLines: [$0]) } ?? whole
    }
    if held.isDecoded { return whole }
    if byDigest { return TransferPlan(asked: .rest(from: held.length, proof: .digest)) }
    if let ifRange = held.validator.fitForHeaders.ifRange {
      return ifRangeIsRefused
        ? TransferPlan(asked: .rest(from: held.length, proof: .sameValidator))
        : TransferPlan(asked: .rest(from: held.length, proof: .ifRange), headerLines: ["If-Range: \(ifRange)"])
    }
    // If-Range must not name a weak validator (RFC 9110 §13.1.5), so the part's last bytes are compared. For a part no
    // longer than those, that would save nothing.
    guard held.length > tailLength else { return whole }
    return TransferPlan(asked: .rest(from: held.length - tailLength, proof: .tail))
  }
}

package struct HeldPart: Equatable, Codable {
  /// The number of valid bytes, from the start of the file.
  var length: Int64 = 0
  package var validator = Validator()
  /// Length of the complete file; `nil` if unknown.
  package var total: Int64?
  /// The Content-Encoding of the stored bytes; `nil` without one. Ranges count encoded bytes.
  var encoding: String?
  /// Whether the coding was removed: then the server's ranges do not match these bytes.
  var isDecoded = false
  /// `EffectiveURL` of the resource that sent the bytes; `nil` without redirects.
  var effectiveURL: String?
  package var trust = TrustMark.usual

  /// Without the length, which the part itself has.
  private enum CodingKeys: CodingKey { case validator, total, encoding, isDecoded, effectiveURL, trust }

  /// Whether a run may continue the bytes. Under another trust, a strong tag must name the version. Bytes that a list
  /// steered, and requests that a list steers, need a digest of the whole file (HTTP rule 47).
  func mayBeContinued(under trust: RequestTrust, isProvable: Bool) -> Bool {
    switch trust[effectiveURL].reuse(of: self.trust) {
    case .asOwn: true
    case .byStrongTag: validator.strongETag != nil
    case .never: isProvable && !self.trust.isUnchecked
    }
  }
}

/// The meaning of an answer for the bytes on disk. Pure: depends on the request, the held bytes and the head.
enum ResumeDecision: Equatable {
  /// Write the body from this offset on; it ends before `end`.
  case append(at: Int64, end: Int64, total: Int64?)
  /// The body is the whole file; the held bytes are dropped (HTTP rule 2).
  case startOver(total: Int64?)
  /// The answer has no body to write.
  case answered(FileDownloadState.Answer)
  /// The answer cannot continue the part: drop the part and request the whole file.
  case restart
  /// The server knows the version but not If-Range: repeat the request without it.
  case askWithoutIfRange

  /// - Parameters:
  ///   - isProvable: whether a digest will prove the file, whichever source sent its bytes.
  ///   - now: seconds since 1970, for a Retry-After that is a date.
  static func decide(
    asked: TransferPlan.Asked, held: HeldPart, known: KnownVersion? = nil, head: ResponseHead,
    isProvable: Bool = false, now: Int64
  ) -> ResumeDecision {
    let answer = ResumeAnswer(asked: asked, held: held, isProvable: isProvable, head: head)
    return switch head.status {
    case _ where head.isRefusal: .rejected(head.failure(now: now))
    // Some servers answer a range request with exactly that range, but with status 200 (HTTP rule 2).
    case _ where head.isWhole && head.contentRange?.range == nil: answer.wholeFile
    // 204 means no content, rather than content of length 0 (RFC 9110 §15.3.5): the user gets a remark about the empty
    // file.
    case 204: .startOver(total: 0)
    case 206,
      _ where head.isWhole:
      answer.partialContent
    case 304 where asked == .conditional:
      known?.isConfirmed(by: head) == true ? .answered(.unchanged) : .answered(.meaningless)
    case 416: answer.unsatisfiedRange
    // Reset, multi-status, deltas, redirects: none of these bodies is the file.
    case 205, 207, 208, 226, 300..<400: .rejected(DownloadError(.badResponse, cause: .http(status: head.status)))
    default: .rejected(head.failure(now: now))
    }
  }

  fileprivate static func rejected(_ error: DownloadError) -> ResumeDecision { .answered(.rejected(error)) }
}

/// The decision on the answer to a request for a file or its rest, by kind of answer.
private struct ResumeAnswer {
  let asked: TransferPlan.Asked
  let held: HeldPart
  let isProvable: Bool
  let head: ResponseHead

  var wholeFile: ResumeDecision {
    // Only if the server claims to support ranges: otherwise a second request would be useless. A file of equal length
    // under another tag may be the same file on another node; a digest then proves the combined bytes.
    let isMaybeSame = isProvable && held.total != nil && head.contentLength == held.total
    if case .rest(_, .ifRange) = asked, head["accept-ranges"]?.lowercased() == "bytes",
      isMaybeSame || held.validator.isStronglyEqual(to: Validator(head))
    {
      return .askWithoutIfRange
    }
    // Content-Length means nothing beside Transfer-Encoding (RFC 9112 §6.3).
    return .startOver(total: head["transfer-encoding"] == nil ? head.contentLength : nil)
  }

  var partialContent: ResumeDecision {
    let answered = head.contentRange
    let isWholeFile =
      answered?.range?.lowerBound == 0 && answered?.range?.upperBound == answered?.completeLength.map { $0 - 1 }
    // A server without ranges may describe the whole file so; after a range request, the whole file of another version.
    if head.status != 206, isWholeFile { return wholeFile }
    guard case .rest(let from, let proof) = asked else {
      // No range was requested; a range that is the whole file is accepted.
      return isWholeFile
        ? .startOver(total: answered?.completeLength)
        : .rejected(
          DownloadError(
            .badResponse, "a part of the file, though all of it was requested", "receiving", isTransient: true))
    }
    guard let range = answered?.range, range.lowerBound == from, range.upperBound < .max else { return .restart }
    if let held = held.total, let now = answered?.completeLength, held != now { return .restart }
    guard (head.bodyCoding == .none ? nil : head["content-encoding"]) == held.encoding else { return .restart }
    let total = answered?.completeLength ?? held.total
    if proof == .digest || isProvable { return .append(at: from, end: range.upperBound + 1, total: total) }
    let validator = Validator(head)
    // A tail is compared if there is no strong tag. Tag and date must then be unchanged, too (HTTP rule 34).
    if proof == .tail ? !held.validator.isWeaklyEqual(to: validator) : held.validator.contradicts(validator) {
      return .restart
    }
    // Validators belong to the URL that gave them (HTTP rule 9). If another URL answers, only the same strong tag shows
    // that it has the same file: mirrors often have equal dates, and a date identifies no version.
    let isElsewhere = head.effectiveName != held.effectiveURL
    if isElsewhere, held.validator.strongETag == nil { return .restart }
    if proof == .sameValidator || isElsewhere, !held.validator.isStronglyEqual(to: validator) { return .restart }
    return .append(at: from, end: range.upperBound + 1, total: total)
  }

  var unsatisfiedRange: ResumeDecision {
    guard case .rest(_, let proof) = asked else {
      return .rejected(DownloadError(.badResponse, cause: .http(status: 416)))
    }
    // Equal length proves nothing: the server must have compared the version, or the answer must name the same version.
    guard head.contentRange?.completeLength == held.length, held.total ?? held.length == held.length,
      proof == .digest || !held.validator.contradicts(Validator(head)),
      proof == .digest || proof == .ifRange && head.effectiveName == held.effectiveURL
        || held.validator.isStronglyEqual(to: Validator(head))
    else { return .restart }
    return .answered(.complete)
  }
}

/// How a body is stored whose content coding dlm did not request (HTTP rule 35).
enum CodedBody {
  case plain
  case decode
  /// As received: the file itself has this coding, like `backup.tar.gz`, or dlm does not know the coding.
  case keep

  static func decide(_ head: ResponseHead, name: @autoclosure () -> String) -> CodedBody {
    switch head.bodyCoding {
    case .none: return .plain
    case .unknown: return .keep
    case .known where head.status == 204: return .plain
    case .known where head.seenCoding == .absent: return .keep
    case .known where head.seenCoding == .twice: return .decode
    case .known(let codings):
      guard codings.count == 1, let own = codings.first.flatMap({ files[$0] }) else { return .decode }
      let name = name()
      let ending = name.utf8.lastIndex(of: .dot).map { name[$0...].dropFirst().lowercased() } ?? ""
      let type = ExpectedTypes.name(head["content-type"] ?? "")
      return own.endings.contains(ending) || own.types.contains(type) ? .keep : .decode
    }
  }

  /// By coding, the extensions and types of files that themselves have it.
  private static let files: [ContentCoding: (endings: [String], types: [String])] = [
    .gzip: (
      ["gz", "gzip", "tgz", "taz", "tpz", "svgz", "bgz", "adz", "cpgz", "emz"],
      [
        "application/gzip", "application/x-gzip", "application/x-gunzip", "application/gzipped",
        "application/gzip-compressed", "application/x-tgz", "application/x-gtar-compressed",
        "application/x-compressed-tar",
      ]
    ),
    .deflate: (["zz", "zlib", "deflate"], ["application/zlib", "application/x-zlib"]),
    .brotli: (["br", "tbr"], ["application/brotli", "application/x-brotli", "application/x-br"]),
  ]
}

package enum RemoteTime {
  /// Clocks are wrong by minutes and zones by hours; a later time cannot be that of a change.
  private static let aheadAtMost: Int64 = 86_400

  /// The time that a file gets from its server (`--remote-time`), in seconds since 1970; `nil` if implausible.
  package static func seconds(_ lastModified: String?, now: Int64) -> Int64? {
    guard let seconds = lastModified.flatMap({ HTTPDate($0) })?.seconds, seconds >= 0, seconds <= now + aheadAtMost
    else { return nil }
    return seconds
  }
}

/// The resource that answered after redirects, which validators belong to (HTTP rules 9 and 27). For comparison only.
enum EffectiveURL {
  /// A URL without the parameters that only sign it. A digest replaces the rest of the query, which may hold a secret.
  /// - Parameter url: without credentials and fragment.
  static func name(_ url: String) -> String {
    let url = SignedQuery.unsigned(url)
    guard let mark = url.utf8.firstIndex(of: .questionMark) else { return url }
    let place = url[..<mark]
    let query = url[mark...].dropFirst()
    guard !query.isEmpty else { return String(place) }
    // 96 bits are enough to distinguish all queries of one path.
    return "\(place)?~" + ContentHasher.digest(of: Array(query.utf8)).bytes.prefix(12).hexadecimal
  }
}
