import Glibc

/// The three pipes between a test and its command.
struct CommandPipes: Sendable {
  var inputRead: Int32 = -1
  var inputWrite: Int32 = -1
  var outputRead: Int32 = -1
  var outputWrite: Int32 = -1
  var errorsRead: Int32 = -1
  var errorsWrite: Int32 = -1

  init() throws(SupportFailure) {
    do throws(SupportFailure) {
      (inputRead, inputWrite) = try Descriptors.pipe()
      (outputRead, outputWrite) = try Descriptors.pipe()
      (errorsRead, errorsWrite) = try Descriptors.pipe()
    } catch {
      closeChildSide()
      closeOwnSide()
      throw error
    }
  }

  func closeChildSide() { Self.close([inputRead, outputWrite, errorsWrite]) }

  func closeOwnSide() { Self.close([inputWrite, outputRead, errorsRead]) }

  private static func close(_ descriptors: [Int32]) {
    for descriptor in descriptors where descriptor >= 0 { Glibc.close(descriptor) }
  }
}
