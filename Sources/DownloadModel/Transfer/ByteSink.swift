/// Receives a response. Called on the transport's own thread, so it must not wait for anything but the disk.
package protocol ByteSink: Sendable {
  /// Judges status, headers and range before a byte of the body is delivered.
  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition
  /// Takes the next bytes of the body, in order; the pointer is valid only during the call.
  /// - Returns: `.enough` if no more are needed: the transfer ends without a failure.
  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand
  /// Called about once a second while a body arrives, for the first time within two: saves the state that must survive
  /// a kill.
  func save() throws(DownloadError)
  /// The task that awaits the transfer was cancelled. A sink for which another task waits keeps the transfer: that task
  /// then awaits or cancels `running`, the same object each time.
  /// - Returns: false to have the transfer removed at once.
  func keep(_ running: RunningTransfer) -> Bool
}

extension ByteSink {
  package func keep(_ running: RunningTransfer) -> Bool { false }
  package func save() {}
}
