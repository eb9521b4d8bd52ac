/// The steps that answer one request: a pure rule, carried out by `OriginConnection`.
struct OriginPlan {
  var steps: [OriginStep]
  /// What the `body` steps are parts of.
  var content: [UInt8] = []

  /// - Parameter date: the Date field's value for an answer that says `now`.
  init(_ answer: OriginAnswer, to request: OriginRequest, date: String) {
    switch answer {
    case .file(let bytes, let options):
      content = bytes
      steps = Self.file(bytes.count, options, request, date)
    case .status(let status, let body, let headers):
      content = body
      let forbidsBody = status < 200 || status == 204 || status == 304
      let length = forbidsBody ? [] : ["Content-Length: \(body.count)"]
      let head = OriginStep.head(status, ["Date: \(date)"] + headers + length + Self.farewell(request))
      steps = Self.settled([head] + (forbidsBody ? [] : Self.whole(0..<body.count, of: request)))
      if !request.keepsAlive { steps.append(.close) }
    case .redirect(let status, let location):
      let body = Array("moved\n".utf8)
      self = OriginPlan(
        .status(status, body: body, headers: ["Location: \(location)"]), to: request, date: date)
    case .either(let isMet, let one, let other):
      self = OriginPlan(isMet(request.target, request.headers) ? one : other, to: request, date: date)
    case .raw(let bytes): steps = [.send(bytes), .settle, .close]
    case .unfinished(let bytes, let gate): steps = [.send(bytes), .stall(gate), .settle, .close]
    case .pieces(let pieces, let pause):
      steps = pieces.flatMap { [.pause(pause), .send(Array($0.utf8))] } + [.settle, .close]
    case .headerFlood: steps = [.send(Array("HTTP/1.1 200 OK\r\n".utf8)), .flood, .settle, .close]
    case .silence(let gate): steps = [.stall(gate), .settle, .close]
    case .late(let bytes, let gate, let options):
      self = OriginPlan(.file(bytes, options), to: request, date: date)
      steps.insert(.stall(gate), at: 0)
    case .close: steps = [.settle, .close]
    case .reset: steps = [.settle, .reset]
    }
  }

  private static func file(
    _ length: Int, _ options: FileOptions, _ request: OriginRequest, _ date: String
  ) -> [OriginStep] {
    let reply = FileReply(to: request, length: length, options: options)
    var lines = reply.headers
    switch options.date {
    case .now: lines.append("Date: \(date)")
    case .text(let text): lines.append("Date: \(text)")
    case .absent: break
    }
    var closes = !request.keepsAlive
    var framed: [OriginStep] = []
    if let body = reply.body {
      framed = whole(body, of: request)
      switch options.framing {
      case .contentLength: lines.append("Content-Length: \(body.count)")
      case .declared(let text):
        lines.append("Content-Length: \(text)")
        // The client cannot find the next answer behind a body of another length.
        closes = closes || text != String(body.count)
      case .chunked(let size):
        lines.append("Transfer-Encoding: chunked")
        framed = request.method == "HEAD" ? [] : chunked(body, size: size)
      case .closeDelimited: closes = true
      }
    }
    lines += closes ? ["Connection: close"] : []
    let steps = [.head(reply.status, lines)] + framed
    return ended(steps, options.ending, closes: closes)
  }

  private static func whole(_ body: Range<Int>, of request: OriginRequest) -> [OriginStep] {
    body.isEmpty || request.method == "HEAD" ? [] : [.body(body)]
  }

  private static func chunked(_ body: Range<Int>, size: Int) -> [OriginStep] {
    var steps: [OriginStep] = []
    for start in stride(from: body.lowerBound, to: body.upperBound, by: max(1, size)) {
      let chunk = start..<min(start + max(1, size), body.upperBound)
      steps.append(.send(Array("\(String(chunk.count, radix: 16))\r\n".utf8)))
      steps.append(.body(chunk))
      steps.append(.send(Array("\r\n".utf8)))
    }
    return steps + [.send(Array("0\r\n\r\n".utf8))]
  }

  private static func ended(_ steps: [OriginStep], _ ending: FileOptions.Ending, closes: Bool) -> [OriginStep] {
    switch ending {
    case .whole: return settled(steps, closes: closes)
    case .close(let count): return split(steps, after: count).before + [.settle, .close]
    case .reset(let count): return split(steps, after: count).before + [.settle, .reset]
    case .stall(let count, let gate):
      let (before, after) = split(steps, after: count)
      return before + [.stall(gate)] + settled(after, closes: closes)
    case .trickle(let piece, let pause):
      let slow = steps.flatMap { step -> [OriginStep] in
        guard case .body(let range) = step else { return [step] }
        return stride(from: range.lowerBound, to: range.upperBound, by: max(1, piece)).flatMap {
          [.pause(pause), .body($0..<min($0 + max(1, piece), range.upperBound))]
        }
      }
      return settled(slow, closes: closes)
    }
  }

  /// Cuts the steps behind so many bytes of body; the head is always before the cut.
  private static func split(_ steps: [OriginStep], after count: Int) -> (
    before: [OriginStep], after: [OriginStep]
  ) {
    var left = count
    for (index, step) in steps.enumerated() {
      guard case .body(let range) = step else {
        if left == 0, index > 0 { return (Array(steps[..<index]), Array(steps[index...])) }
        continue
      }
      if left < range.count {
        let middle = range.lowerBound + left
        let head: [OriginStep] = left > 0 ? [.body(range.lowerBound..<middle)] : []
        return (steps[..<index] + head, [.body(middle..<range.upperBound)] + steps[(index + 1)...])
      }
      left -= range.count
    }
    return (steps, [])
  }

  /// Puts `settle` before what shows the client the end: the last byte, the last chunk, or the FIN.
  private static func settled(_ steps: [OriginStep], closes: Bool = false) -> [OriginStep] {
    guard let last = steps.last else { return closes ? [.settle, .close] : [.settle] }
    var before = Array(steps.dropLast())
    if case .body(let range) = last, range.count > 1 {
      let final = range.upperBound - 1
      before.append(.body(range.lowerBound..<final))
      before += [.settle, .body(final..<range.upperBound)]
    } else {
      before += [.settle, last]
    }
    return before + (closes ? [.close] : [])
  }

  private static func farewell(_ request: OriginRequest) -> [String] {
    request.keepsAlive ? [] : ["Connection: close"]
  }
}

/// One thing that a connection does in the course of an answer.
enum OriginStep: Equatable {
  /// Head or framing.
  case send([UInt8])
  /// A part of the body's bytes; it is counted.
  case body(Range<Int>)
  /// Waits for the gate, or for the client to go.
  case stall(Gate?)
  case pause(Duration)
  /// The answer no longer counts as in flight. It stands before the step that shows the client the end: else
  /// a client's next request could be seen while this one still counts, and a bound would look broken.
  case settle
  /// Header lines until the client goes.
  case flood
  /// FIN.
  case close
  /// RST, once the client's side has what was sent.
  case reset

  static func == (left: OriginStep, right: OriginStep) -> Bool {
    switch (left, right) {
    case (.send(let a), .send(let b)): a == b
    case (.body(let a), .body(let b)): a == b
    case (.stall(let a), .stall(let b)): a === b
    case (.pause(let a), .pause(let b)): a == b
    case (.settle, .settle), (.flood, .flood), (.close, .close), (.reset, .reset): true
    default: false
    }
  }
}

extension OriginStep {
  /// A head (RFC 9112 §2.1) without a reason phrase, which clients must not need.
  static func head(_ status: Int, _ lines: [String]) -> OriginStep {
    .send(Array((["HTTP/1.1 \(status) "] + lines + ["", ""]).joined(separator: "\r\n").utf8))
  }
}
