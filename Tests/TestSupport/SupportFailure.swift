import Glibc

/// Why the test support itself could not do its part: never a verdict on the code under test.
public struct SupportFailure: Error, Equatable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }

  /// A failed system call, with errno's words.
  static func systemCall(_ name: String, errno code: Int32) -> SupportFailure {
    SupportFailure("\(name) failed: \(String(cString: strerror(code)))")
  }
}
