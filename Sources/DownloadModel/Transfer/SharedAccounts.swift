/// Times that this user's processes book one after another, each under a number (`SharedAccount`).
package protocol SharedAccounts: Sendable {
  /// Equal in every process, and not zero.
  func number(of name: String) -> UInt64

  /// Books time behind all that is booked.
  /// - Parameters:
  ///   - price, earliest: in nanoseconds, CLOCK_MONOTONIC.
  ///   - longest: the longest wait, in nanoseconds: a run that has ended may have booked more, at a lower limit.
  /// - Returns: when the booked time starts, at the earliest `earliest`; `nil` if there is no room for the account.
  func book(_ price: UInt64, of account: UInt64, from earliest: UInt64, within longest: UInt64) -> UInt64?
}

/// One of `SharedAccounts`: what one limit allows to all processes together.
package struct SharedAccount: Sendable {
  private let accounts: any SharedAccounts
  private let number: UInt64

  package init(_ accounts: any SharedAccounts, _ name: String) {
    self.accounts = accounts
    number = accounts.number(of: name)
  }

  package func book(_ price: UInt64, from earliest: UInt64, within longest: UInt64) -> UInt64? {
    accounts.book(price, of: number, from: earliest, within: longest)
  }
}
