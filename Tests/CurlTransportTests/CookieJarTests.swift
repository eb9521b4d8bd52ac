import CurlTransport
import DownloadModel
import TestSupport
import Testing

@Suite("One jar of cookies for all loops of a run (RFC 6265)")
struct CookieJarTests {
  @Test func whatOneLoopIsGivenTheOtherSends() async throws {
    let jar = try CookieJar()
    #expect(!jar.holdsCookies)
    try await withTransport({ $0.cookieJar = jar }) { first, origin in
      origin.route("/set", .file([1], FileOptions(headers: ["Set-Cookie: a=1; Path=/"])))
      origin.route("/get", .file([2]))
      try await withTransport({ $0.cookieJar = jar }) { second, _ in
        _ = try await second.fetch(try origin.address("/get"))
        _ = try await first.fetch(try origin.address("/set"))
        #expect(jar.holdsCookies)
        _ = try await second.fetch(try origin.address("/get"))
      }
      #expect(origin.log.map { $0.headers["cookie"] } == [nil, nil, "a=1"])
    }
    #expect(try jar.lines() == ["127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1"])
  }

  /// Without a jar nothing is kept.
  @Test func none() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file([1], FileOptions(headers: ["Set-Cookie: a=1; Path=/"])))
      for _ in 0..<2 { _ = try await transport.fetch(try origin.address("/f")) }
      #expect(origin.log.allSatisfy { $0.headers["cookie"] == nil })
    }
  }

  @Test func twoLoopsAtOnce() async throws {
    let jar = try CookieJar(["127.0.0.1\tFALSE\t/\tFALSE\t0\told\t1", "# no cookie", "nor this"])
    #expect(jar.holdsCookies)
    // With a limit no request is given back because others were answered first (HTTP rule 38), which a busy machine
    // can bring about.
    func prepare(_ options: inout TransportOptions) {
      (options.cookieJar, options.limits) = (jar, RateLimits(bytesPerSecond: 1 << 40))
    }
    try await withTransport(prepare) { first, origin in
      for index in 0..<100 {
        origin.route("/f\(index)", .file([1], FileOptions(headers: ["Set-Cookie: c\(index)=1; Path=/"])))
      }
      try await withTransport(prepare) { second, _ in
        try await withThrowingTaskGroup { group in
          for index in 0..<100 {
            let address = try origin.address("/f\(index)")
            group.addTask { _ = try await (index % 2 == 0 ? first : second).fetch(address) }
          }
          try await group.waitForAll()
        }
      }
      #expect(origin.log.allSatisfy { $0.headers["cookie"]?.contains("old=1") == true })
    }
    #expect(try jar.lines().count == 101)
  }
}
