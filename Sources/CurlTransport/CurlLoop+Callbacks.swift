import CCurl
import Glibc

// File-level, because nested @convention(c) closures can crash Swift 6.3. Each context is the loop, alive while
// its thread runs, and each call arrives on that thread, out of a call of the loop into libcurl.

func curlLoopThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  let loop = Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue()
  dlm_name_thread("curl-loop")
  loop.runThread()
  return nil
}

func curlSocketInterestDidChange(
  _ easy: UnsafeMutableRawPointer?, _ socket: Int32, _ what: Int32, _ context: UnsafeMutableRawPointer?,
  _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context else { return 0 }
  Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().socketInterestDidChange(socket, what)
  return 0
}

func curlTimerDidChange(
  _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context else { return 0 }
  Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().timerDidChange(milliseconds)
  return 0
}

func curlWillCloseSocket(_ context: UnsafeMutableRawPointer?, _ socket: Int32) -> Int32 {
  guard let context else { return close(socket) }
  return Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().socketWillClose(socket)
}
