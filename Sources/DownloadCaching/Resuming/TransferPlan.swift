import DownloadModel

/// The request that the next attempt sends, by what is on disk now.
struct TransferPlan: Equatable {
  /// What was asked, so that the answer can be judged.
  enum Asked: Sendable, Equatable {
    case whole
    /// Only if it changed since (If-None-Match, If-Modified-Since).
    case conditional
    /// The bytes from here on.
    case rest(from: Int64, proof: Proof)
  }

  /// What will show that the rest belongs to the part.
  enum Proof: Sendable, Equatable {
    /// The server compared (If-Range).
    case ifRange
    /// The answer's own validator, because this server answers If-Range with the whole file.
    case sameValidator
    /// Nothing names the version, or only a weak validator: the part's last bytes are fetched again and compared.
    case tail
  }

  var asked: Asked
  var headerLines: [String]

  /// Bytes fetched twice where no strong validator exists: 64 KiB, little to send and enough to differ.
  static let tailLength: Int64 = 65_536

  /// - Parameters:
  ///   - ifRangeIsRefused: the server has answered If-Range with the whole file of the same version.
  ///   - known: what is known of a finished file of this address that stands intact on disk.
  static func make(held: HeldPart, ifRangeIsRefused: Bool, known: KnownVersion?) -> TransferPlan {
    if held.length > 0 { return resuming(held, ifRangeIsRefused) }
    guard let condition = known?.condition else { return TransferPlan(asked: .whole, headerLines: []) }
    return TransferPlan(asked: .conditional, headerLines: [condition])
  }

  private static func resuming(_ held: HeldPart, _ ifRangeIsRefused: Bool) -> TransferPlan {
    if held.isDecoded { return TransferPlan(asked: .whole, headerLines: []) }
    let validator = held.validator.fitForHeaders
    if let ifRange = validator.ifRange {
      return ifRangeIsRefused
        ? TransferPlan(asked: .rest(from: held.length, proof: .sameValidator), headerLines: [])
        : TransferPlan(
          asked: .rest(from: held.length, proof: .ifRange), headerLines: ["If-Range: \(ifRange)"])
    }
    // A weak validator, which If-Range must not name, promises no bytes (RFC 9110 §13.1.5): with it, as with none, the
    // part's last bytes are compared. That saves nothing for a part that is not longer than they are.
    guard held.length > tailLength else {
      return TransferPlan(asked: .whole, headerLines: [])
    }
    return TransferPlan(asked: .rest(from: held.length - tailLength, proof: .tail), headerLines: [])
  }
}
