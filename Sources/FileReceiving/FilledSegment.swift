import DownloadModel

/// A segment of a download, as its transfer sees it.
protocol FilledSegment: SegmentTarget {
  var download: FileDownload { get }
  var id: Int { get }
}

extension FilledSegment {
  package func nextTransfer() throws(DownloadError) -> TransferRequest? {
    try download.access { receiver throws(DownloadError) in try receiver.nextTransfer(for: id) }
  }

  package func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    try download.access { receiver throws(DownloadError) in try receiver.accept(head, for: id) }
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
    try download.access { receiver throws(DownloadError) in try receiver.write(bytes, to: id) }
  }

  package func save() throws(DownloadError) {
    try download.access { receiver throws(DownloadError) in try receiver.save() }
  }

  package func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool {
    try download.access { receiver throws(DownloadError) in try receiver.finish(receipt, of: id) }
  }
}
