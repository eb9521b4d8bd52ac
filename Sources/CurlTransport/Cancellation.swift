import DownloadModel

struct Cancellation {
  enum Reason {
    /// The task that started the transfer was cancelled while it waited in `Transport.run`.
    case starter
    /// A task that awaited the transfer in flight was cancelled.
    case waiter(RunningTransfer.Waiter)
    /// `RunningTransfer.cancel`: the sink cannot keep the transfer.
    case order
  }

  let id: TransferID
  let reason: Reason
}
