import CCurl
import Glibc

// File-level, because nested @convention(c) closures can crash Swift 6.3. The context is the transfer that set
// the callback; see its type for why the pointer is alive.

func curlDidReceiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  deliver(bytes, size * count, to: context) { $0.receiveHeader($1) }
}

func curlDidReceiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  deliver(bytes, size * count, to: context) { $0.receiveBody($1) }
}

/// - Returns: what tells libcurl to go on: the number of bytes; any other ends the transfer.
private func deliver(
  _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, to context: UnsafeMutableRawPointer?,
  _ receive: (CurlTransfer, UnsafeRawBufferPointer) -> Bool
) -> Int {
  guard let context else { return 0 }
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  return receive(transfer, UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
}

func curlDidOpenSocket(_ context: UnsafeMutableRawPointer?, _ socket: Int32, _ purpose: curlsocktype) -> Int32
{
  // libcurl leaves it open for programs that this process starts, which would hold the connection as long as they live.
  _ = fcntl(socket, F_SETFD, FD_CLOEXEC)  // fails for no socket that was just made
  guard let context else { return CURL_SOCKOPT_OK }
  Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().didOpen(socket)
  return CURL_SOCKOPT_OK
}
