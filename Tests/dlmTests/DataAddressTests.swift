import DownloadModel
import FileReceiving
import Foundation
import TestSupport
import Testing

@testable import dlm

@Suite("data: addresses are files")
struct DataAddressTests {
  @Test(
    arguments: [
      ("data:,A%20brief%20note", "text/plain", "A brief note", "data.txt"),
      ("data:text/plain;charset=utf-8,%C3%A4%,#x", "text/plain", "ä%,", "data.txt"),
      ("data:;base64,SGk=", "text/plain", "Hi", "data.txt"),
      ("DATA:IMAGE/PNG;BASE64,SGk", "image/png", "Hi", "data.png"),
      ("data:image/jpeg;base64,SG%0Ak%3D", "image/jpeg", "Hi", "data.jpg"),
      ("data:image/svg+xml,<svg xmlns='http://x/y'/>", "image/svg+xml", "<svg xmlns='http://x/y'/>", "data.svg"),
      ("data:application/x-a.b/../c;base64,", "application/x-a.b/../c", "", "data.c"),
      ("data:application/vnd.ms-excel,x", "application/vnd.ms-excel", "x", "data.bin"),
      ("data:image/png", nil, nil, nil), ("data:image/png;base64,SG*k", nil, nil, nil),
      ("data:;base64,S", nil, nil, nil), ("date:,x", nil, nil, nil),
    ] as [(String, String?, String?, String?)])
  func whatItHolds(text: String, type: String?, content: String?, name: String?) throws {
    let data = DataAddress(text)
    #expect(data?.mediaType == type && data.map { String(decoding: $0.bytes, as: UTF8.self) } == content)
    let address = Address(data: text)
    #expect((address != nil) == (type != nil))
    if let address {
      #expect(FileNaming.name(of: address) == name && address.key == text && !address.hasCredentials)
      #expect(address.host.isEmpty && address.path.isEmpty && address.query == nil && address.hostAndPort.isEmpty)
    }
  }

  private static let png = "data:image/png;base64," + Data([0x89, 0x50, 0x4E, 0x47, 1, 2, 3]).base64EncodedString()

  @Test func isFetchedOnceAndWhole() async throws {
    let place = try Workplace()
    let long =
      "data:application/octet-stream;base64," + Data(SplitMix64.bytes(count: 40_000, seed: 1)).base64EncodedString()
    _ = try place.list([
      Self.png, "\(Self.png)\tout=b.png\tdir=d", "data:,one", "data:,two", long, "data:;base64,S*k", "data:x",
    ])
    let dry = try await place.dlm("get", "urls.txt", "--dry-run")
    #expect(dry.outputText.contains("\t./data.png\t7\tfetch\n") && dry.outputText.contains("\t40000\tfetch\n"))
    let run = try await place.dlm("get", "urls.txt", "--write-list", "again.txt")
    #expect(run.status == 1, "\(run.errorText)")
    let reason = "its data is not base64, or the comma before it is missing; fix or remove it"
    for bad in ["urls.txt:6: \"data:;base64,S*k\"", "urls.txt:7: \"data:x\""] {
      #expect(run.errorText.contains("\(bad) is not a URL: \(reason)"), "\(run.errorText)")
    }
    let names = ["again.txt", "d", "data.1.txt", "data.bin", "data.png", "data.txt", "urls.txt"]
    #expect(try place.names() == names && place.names(in: "d") == ["b.png"])
    #expect(try place.file("data.bin") == SplitMix64.bytes(count: 40_000, seed: 1))
    #expect(try place.file("data.1.txt") == Array("two".utf8))
    let second = try await place.dlm("get", "urls.txt")
    #expect(second.errorText.contains("5 unchanged"), "\(second.errorText)")
    let dryAgain = try await place.dlm("get", "urls.txt", "--dry-run")
    #expect(dryAgain.outputText.contains("\t7\there\n") && dryAgain.outputText.allSatisfy { $0.isASCII || $0 == "…" })
    // What was written as a list brings the same files elsewhere.
    let other = try await place.dlm("get", "again.txt", "-d", "other", "--no-cache")
    #expect(other.status == 0, "\(other.errorText)")
    #expect(try place.names(in: "other") == ["d", "data.1.txt", "data.bin", "data.png", "data.txt"])
  }

  @Test func onTheCommandLineAndNowhereElse() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    #expect(try await place.dlm("get", "data:,x", "-o", "x").status == 0)
    #expect(try place.file("x") == Array("x".utf8))
    let again = try await place.dlm("get")
    #expect(again.status == 0 && again.errorText.contains("up to date: 1 file"), "\(again.errorText)")
    // A server cannot answer with one.
    origin.route("/away", .redirect(302, to: "data:,evil"))
    let away = try await place.dlm("get", origin.url("/away"))
    #expect(away.status == 1 && away.errorText.contains("a redirect was refused"), "\(away.errorText)")
    #expect(try place.names() == ["x"])
    let long = "data:text/plain," + String(repeating: "a", count: 3000)
    let failed = try await place.dlm("get", long, "--checksum", "md5:" + String(repeating: "0", count: 32))
    #expect(failed.status == 1 && failed.errorText.utf8.count < 1000, "\(failed.errorText)")
  }
}
