import DownloadModel

/// A server's word that a stored file is still its own (304, RFC 9110 §15.4.5), on its way into the index.
struct Confirmation {
  let plan: DownloadPlan
  let head: ResponseHead?
  /// Seconds since 1970 at which the request was sent.
  let askedAt: Int64
  let shared: SharedConfiguration
  private var configuration: CacheConfiguration { shared.configuration }
  let index: IndexSession

  /// Confirms the address's own file.
  /// - Returns: whether a checksum proved it, and its row.
  /// - Throws: `.unproven`.
  nonisolated(nonsending) func confirm(
    _ own: CacheRow
  ) async throws(DownloadError) -> (row: CacheRow, isProved: Bool) {
    let expected = plan.expectedDigest(named: own.wanted, nil)
    if expected == nil, own.proof < configuration.requiredProof {
      throw Verification.unproven(own.proof, configuration.requiredProof).at(plan.address)
    }
    let row = index.stamped(own, head)
    if row.changed != plan.own?.changed { index.addStored(row) }
    let trust = plan.trust[own.effectiveURL]
    if let head, trust.mayRenew(own.trust) {
      await endStored()
      var renewed = row.renewed(by: head, askedAt: askedAt, digest: expected)
      renewed.trust = trust
      if !configuration.fields.forbidsStoring {
        await renew(row, to: renewed)
        if let store = index.store, store.note(renewed, of: plan, head, isConfirmed: true, index) {
          await store.flush(index)
        }
      }
    }
    return (row, expected != nil || configuration.requiredProof == .digest)
  }

  /// A 304 that forbids storing ends all that is stored of the address, anywhere (RFC 9111 §4.3.4, §5.2.2.5).
  nonisolated(nonsending) func endStored() async {
    guard let head, FreshnessFields(head).forbidsStoring else { return }
    await index.flush()
    let address = plan.rowKey.address
    for row in await index.ask({ $0.noted(of: address) }) ?? []
    where plan.trust[row.effectiveURL].mayRenew(row.trust) {
      index.addStored(row.renewed(by: head, askedAt: askedAt, digest: nil))
    }
  }

  /// Stores the header fields that a 304 renews (RFC 9111 §4.3.4), and the checksum that was compared. Writes no row
  /// where it would say nothing new: without a lifetime it does not matter when the server was asked.
  private nonisolated(nonsending) func renew(_ row: CacheRow, to renewed: CacheRow) async {
    if renewed.freshness != row.freshness || renewed.digest != row.digest || renewed.trust != row.trust
      || renewed.mayAnswer != row.mayAnswer || renewed.freshness.namesLifetime
      || configuration.freshness.guesses || row.isUsedAgain(at: renewed.fetchedAt)
    {
      if index.add(renewed) { await index.flush() }
    }
  }
}
