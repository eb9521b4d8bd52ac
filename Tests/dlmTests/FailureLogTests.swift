import DownloadModel
import SystemPackage
import TestSupport
import Testing

@testable import dlm

@Suite("Failures without end: told up to a number, then counted and spooled")
struct FailureLogTests {
  private static func failure(_ number: Int, status: Int = 404) -> DownloadError {
    DownloadError(
      .status, cause: .http(status: status), address: "http://host/\(number)", isTransient: status >= 500)
  }

  @Test func memoryIsBounded() throws {
    let folder = try TemporaryFolder()
    let spool = try FailureSpool(in: folder.path, of: "data")
    let log = FailureLog(spool: spool, limit: 3)
    for number in 0..<5000 { log.add(Self.failure(number)) }
    // The first of a kind counts for the exit status, and is kept.
    log.add(Self.failure(5000, status: 503))
    log.add(Self.failure(5001, status: 503))
    log.add(.cancelled)
    #expect(log.failures.map(\.address) == ["0", "1", "2", "5000"].map { "http://host/\($0)" })
    #expect(log.more == 4998)
    #expect(try folder.names(in: "") == [], "the spool has no name")

    let target = try FileDescriptor.open(
      FilePath(folder.path("list")), .writeOnly, options: .create, permissions: .ownerReadWrite)
    try target.closeAfter { try spool.copy(to: target) }
    let lines = String(decoding: try folder.read("list"), as: UTF8.self).split(separator: "\n")
    #expect(lines.filter { !$0.hasPrefix("#") }.count == 4998)
    #expect(lines.filter { $0.hasPrefix("#") }.count == 2)
    #expect(lines.last == "http://host/5001\tdirectory=data")
  }

  @Test func aListOfAllIsWritten() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let count = FailureLog.told + 50
    _ = try place.list((0..<count).map { origin.url("/\($0)") })
    let result = try await place.dlm("get", "urls.txt", "-q", "--failed", "again.txt")
    #expect(result.status == 1)
    #expect(result.errorText.contains("dlm: and 10,040 more, in again.txt"), "\(result.errorText.suffix(300))")
    let lines = String(decoding: try place.file("again.txt"), as: UTF8.self).split(separator: "\n")
    #expect(Set(lines.filter { !$0.hasPrefix("#") }).count == count)
  }
}
