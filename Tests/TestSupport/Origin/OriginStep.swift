/// One thing that a connection does in the course of an answer.
enum OriginStep: Equatable {
  /// Head or framing.
  case send([UInt8])
  /// A part of the body's bytes; it is counted.
  case body(Range<Int>)
  /// Waits for the gate, or for the client to go.
  case stall(Gate?)
  case pause(Duration)
  /// The answer no longer counts as in flight. It stands before the step that shows the client the end: else a
  /// client's next request could be seen while this one still counts, and a bound would look broken.
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
