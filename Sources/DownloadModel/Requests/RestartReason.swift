/// Why a file starts over although a part of it was saved.
package enum RestartReason: String, Sendable {
  /// Its tag or date differs from that of the part.
  case otherVersion = "other-version"
  case otherLength = "other-length"
  /// The last bytes of the part differ.
  case otherBytes = "other-bytes"
  /// The server sends the whole file, or another range; nothing shows that it has changed.
  case notContinued = "not-continued"
}
