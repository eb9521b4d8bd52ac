import DownloadModel
import Synchronization
import Testing

@testable import TestSupport

@Suite("A transport without a network")
struct FakeTransportTests {
  final class Sink: ByteSink {
    let bytes = Lock<[UInt8]>([])
    let status = Lock(0)
    func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
      status.withLock { $0 = head.status }
      return .write
    }
    func write(_ piece: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
      bytes.withLock { $0 += piece }
      return .more
    }
  }

  private func request(_ address: String, from start: Int64? = nil, _ lines: [String] = []) throws
    -> TransferRequest
  {
    var request = TransferRequest(address: try Address(address), headerLines: lines)
    request.rangeStart = start
    return request
  }

  @Test func `Answers follow the script, an attempt each, and the last stays`() async throws {
    let transport = FakeTransport()
    let passing = DownloadError(.reset, isTransient: true)
    let body = SplitMix64.bytes(count: 40_000, seed: 8)
    let request = try request("http://h/a")
    transport.answer(
      request.address, .failure(passing), .ok(body).cut(after: 17_000, error: passing), .ok(body))
    for (count, failure) in [(0, passing), (17_000, passing), (40_000, nil), (40_000, nil)] {
      let sink = CollectingSink()
      do throws(DownloadError) {
        let receipt = try await transport.fetch(request, into: sink)
        #expect(receipt == TransferReceipt(status: 200, bodyBytes: 40_000, proof: .length))
        #expect(failure == nil)
      } catch {
        #expect(error == failure?.at(request.address))
      }
      #expect(sink.bytes == Array(body.prefix(count)))
    }
    #expect(transport.attempts.map(\.number) == [1, 2, 3, 4])
  }

  @Test(
    arguments: [(nil, "\"v1\"", 200, 0), (4, "\"v1\"", 206, 4), (4, "\"v0\"", 200, 0)]
      as [(Int64?, String, Int, Int)])
  func `A file serves ranges`(_ start: Int64?, _ tag: String, _ status: Int, _ first: Int) async throws {
    let transport = FakeTransport()
    let body = SplitMix64.bytes(count: 10, seed: 9)
    let request = try request("http://h/a", from: start, ["If-Range: \(tag)"])
    transport.answer(request.address) { request, _ in .file(body, to: request) }
    let sink = CollectingSink()
    #expect(try await transport.fetch(request, into: sink).status == status)
    #expect(sink.bytes == Array(body[first...]))
    #expect(transport.attempts.first?.rangeStart == start)
  }

  @Test func `An address without a script fails for good`() async throws {
    let request = try request("http://h/a")
    let failure = await #expect(throws: DownloadError.self) {
      try await FakeTransport().fetch(request, into: CollectingSink())
    }
    #expect(failure?.isTransient == false)
  }

  @Test func `Held transfers go in the order of their starts`() async throws {
    let transport = FakeTransport(holds: true)
    transport.answerOthers { _, _ in .ok([1]) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 1...3 {
        let request = try request("http://h/\(index)")
        group.addTask { _ = try await transport.fetch(request, into: CollectingSink()) }
        try await transport.wait(forAttempts: index)
      }
      #expect(transport.running == 3)
      transport.release(1)
      try await transport.wait(forEnded: 1)
      #expect(transport.ended == ["http://h/1"])
      transport.release(1)
      try await transport.wait(forEnded: 2)
      #expect(transport.ended == ["http://h/1", "http://h/2"])
      transport.releaseAll()
      try await group.waitForAll()
    }
    #expect(transport.greatestConcurrency == 3)
    #expect(transport.running == 0)
  }

  enum Holding: CaseIterable { case transport, gate, never }

  @Test(arguments: Holding.allCases)
  func `Cancelling ends a transfer wherever it waits`(_ holding: Holding) async throws {
    let transport = FakeTransport(holds: holding == .transport)
    let gate = try Gate()
    transport.answerOthers { _, _ in
      switch holding {
      case .transport: .ok([1])
      case .gate: FakeAnswer.ok([1]).held(by: gate)
      case .never: .hanging
      }
    }
    let request = try request("http://h/a")
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { _ = try await transport.fetch(request, into: CollectingSink()) }
      try await transport.wait(forRunning: 1)
      group.cancelAll()
      let failure = await #expect(throws: DownloadError.self) { try await group.next() }
      #expect(failure?.code == .cancelled)
    }
    #expect(transport.running == 0)
  }

  @Test func `A gate lets its transfer go`() async throws {
    let transport = FakeTransport()
    let gate = try Gate()
    let request = try request("http://h/a")
    transport.answer(request.address, FakeAnswer.ok([1]).held(by: gate))
    async let receipt = transport.fetch(request, into: CollectingSink())
    try await transport.wait(forRunning: 1)
    #expect(!gate.isOpen)
    gate.open()
    #expect(try await receipt.bodyBytes == 1)
  }

  /// Keeps its transfer once, and may call its body splittable.
  final class KeepingSink: ByteSink {
    let sink = Sink()
    let kept = Lock<RunningTransfer?>(nil)
    private let disposition: BodyDisposition
    init(_ disposition: BodyDisposition) { self.disposition = disposition }
    func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
      _ = try sink.accept(head)
      return disposition
    }
    func write(_ piece: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand { try sink.write(piece) }
    func keep(_ running: RunningTransfer) -> Bool {
      kept.withLock { kept in
        defer { kept = running }
        return kept == nil
      }
    }
  }

  @Test(arguments: [true, false])
  func `What its sink keeps goes on when its task is cancelled`(isCancelledAgain: Bool) async throws {
    let transport = FakeTransport(holds: true)
    let request = try request("http://h/a")
    transport.answer(request.address, .ok([1, 2, 3]))
    let sink = KeepingSink(.write)
    let first = Task { try await transport.fetch(request, into: sink) }
    try await transport.wait(forRunning: 1)
    first.cancel()
    #expect(await #expect(throws: DownloadError.self) { _ = try await first.value }?.code == .cancelled)
    let running = try #require(sink.kept.withLock { $0 })
    #expect(transport.running == 1)
    let second = Task { try await running.receipt() }
    if isCancelledAgain {
      second.cancel()
      #expect(await #expect(throws: DownloadError.self) { _ = try await second.value }?.code == .cancelled)
    } else {
      transport.releaseAll()
      #expect(try await second.value.bodyBytes == 3)
      #expect(sink.sink.bytes.withLock { $0 } == [1, 2, 3])
    }
    #expect(transport.running == 0 && transport.attempts.count == 1)
  }

  @Test func `A splittable body is under way`() async throws {
    let transport = FakeTransport()
    let request = try request("http://h/a")
    transport.answer(request.address, .ok([1, 2, 3]))
    let sink = KeepingSink(.splittable)
    guard case .underWay(let running) = try await transport.run(request, into: sink) else {
      Issue.record("the sink called it splittable")
      return
    }
    #expect(try await running.receipt().bodyBytes == 3)
    #expect(sink.sink.bytes.withLock { $0 } == [1, 2, 3])
  }
}
