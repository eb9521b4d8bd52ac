import DownloadModel

/// A segment of a download, as its transfer sees it.
protocol FilledSegment: SegmentTarget {
  var download: FileDownload { get }
  var id: Int { get }
}

extension FilledSegment {
  package func nextTransfer() throws(DownloadError) -> TransferRequest? {
    try download.access { reception throws(DownloadError) in try reception.nextTransfer(for: id) }
  }

  package func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    try download.access { reception throws(DownloadError) in try reception.accept(head, for: id) }
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
    try download.access { reception throws(DownloadError) in try reception.write(bytes, to: id) }
  }

  package func save() throws(DownloadError) {
    try download.access { reception throws(DownloadError) in try reception.save() }
  }

  package func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool {
    try download.access { reception throws(DownloadError) in try reception.finish(receipt, of: id) }
  }
}
