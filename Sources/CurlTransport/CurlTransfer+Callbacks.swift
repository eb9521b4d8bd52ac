import CCurl

// File-level, because nested @convention(c) closures can crash Swift 6.3. The context is the transfer that set
// the callback; see its type for why the pointer is alive.

func curlDidReceiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let context else { return 0 }
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  let goesOn = transfer.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
  return goesOn ? size * count : 0
}

func curlDidReceiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let context else { return 0 }
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  let goesOn = transfer.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
  return goesOn ? size * count : 0
}
