import DownloadModel
import Testing

@testable import FileReceiving

@Suite("What the next attempt asks for (HTTP rules 1, 5, 7 and 16)")
struct TransferPlanTests {
  private static let old = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let later = "Sun, 06 Nov 1994 09:00:00 GMT"

  @Test(arguments: [
    // Nothing there.
    (0, Validator(), nil, TransferPlan(asked: .whole, headerLines: [])),
    (0, Validator(), Validator(), TransferPlan(asked: .whole, headerLines: [])),
    // A finished file: If-None-Match first, weak ones too.
    (
      0, Validator(), Validator(etag: "W/\"v1\"", lastModified: old),
      TransferPlan(asked: .conditional, headerLines: ["If-None-Match: W/\"v1\""])
    ),
    (
      0, Validator(), Validator(lastModified: old, date: later),
      TransferPlan(asked: .conditional, headerLines: ["If-Modified-Since: \(old)"])
    ),
    // Weak or invalid dates are not sent back (HTTP rules 28 and 31).
    (0, Validator(), Validator(lastModified: old, date: old), TransferPlan(asked: .whole, headerLines: [])),
    (0, Validator(), Validator(lastModified: old), TransferPlan(asked: .whole, headerLines: [])),
    (0, Validator(), Validator(lastModified: "0", date: later), TransferPlan(asked: .whole, headerLines: [])),
    // A part goes before a finished file.
    (
      100, Validator(etag: "\"v2\""), Validator(etag: "\"v1\""),
      TransferPlan(asked: .rest(from: 100, proof: .ifRange), headerLines: ["If-Range: \"v2\""])
    ),
    // A weak tag never, and no date beside it: the tail, where there is more than a tail (HTTP rule 34).
    // Found by trial: 80 of 80 MiB came again from Apache, whose tags are weak in the second of the change.
    (
      100, Validator(etag: "W/\"v2\"", lastModified: old, date: later), nil,
      TransferPlan(asked: .whole, headerLines: [])
    ),
    (
      100_000, Validator(etag: "W/\"v2\"", lastModified: old, date: later), nil,
      TransferPlan(asked: .rest(from: 34_464, proof: .tail), headerLines: [])
    ),
    (
      100_000, Validator(lastModified: old, date: old), nil,
      TransferPlan(asked: .rest(from: 34_464, proof: .tail), headerLines: [])
    ),
    (
      100, Validator(lastModified: old, date: later), nil,
      TransferPlan(asked: .rest(from: 100, proof: .ifRange), headerLines: ["If-Range: \(old)"])
    ),
    (100, Validator(lastModified: old, date: old), nil, TransferPlan(asked: .whole, headerLines: [])),
    (100, Validator(lastModified: old), nil, TransferPlan(asked: .whole, headerLines: [])),
    // No validator at all: the tail, where there is more than a tail.
    (65_536, Validator(), nil, TransferPlan(asked: .whole, headerLines: [])),
    (
      65_537, Validator(), nil,
      TransferPlan(asked: .rest(from: 1, proof: .tail), headerLines: [])
    ),
    // A record that someone tampered with cannot add header lines.
    (
      0, Validator(), Validator(etag: "\"v1\"\r\nX: y", lastModified: old, date: later),
      TransferPlan(asked: .conditional, headerLines: ["If-Modified-Since: \(old)"])
    ),
  ])
  func plan(length: Int, validator: Validator, known: Validator?, expected: TransferPlan) {
    let held = HeldPart(length: Int64(length), validator: validator)
    let known = known.map { KnownVersion(validator: $0) }
    #expect(TransferPlan.make(held: held, ifRangeIsRefused: false, known: known) == expected)
  }

  /// No range of what the server sends is a range of what stands there.
  @Test func whatWasDecodedStartsOver() {
    let held = HeldPart(
      length: 100_000, validator: Validator(etag: "\"v1-gzip\""), encoding: "gzip", isDecoded: true)
    #expect(
      TransferPlan.make(held: held, ifRangeIsRefused: false, known: nil)
        == TransferPlan(asked: .whole, headerLines: []))
  }

  /// Its start may be what is missing.
  @Test(arguments: [0, 100] as [Int64]) func whatIsProvedOtherwiseGoesOnWithoutValidators(length: Int64) {
    #expect(
      TransferPlan.make(
        held: HeldPart(length: length), ifRangeIsRefused: false,
        known: KnownVersion(validator: Validator(etag: "\"v\"")),
        byDigest: true) == TransferPlan(asked: .rest(from: length, proof: .digest), headerLines: []))
  }

  @Test func withoutIfRangeWhereTheServerDislikesIt() {
    let held = HeldPart(length: 100, validator: Validator(etag: "\"v1\""))
    #expect(
      TransferPlan.make(held: held, ifRangeIsRefused: true, known: nil)
        == TransferPlan(asked: .rest(from: 100, proof: .sameValidator), headerLines: []))
  }
}
