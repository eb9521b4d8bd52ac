import DownloadModel

/// HTML under a name with the extension of another type: mostly a login or error page.
enum UnlikelyPage {
  private static let endings = Set(
    """
    7z apk bam bz2 csv deb dmg docx epub exe fasta fastq fits flac gif grib gz h5 img iso jar jpeg jpg json laz mkv \
    mp3 mp4 msi nc nii parquet pdf png pptx rar rpm sqlite tar tgz tif tiff tsv vcf wav webm webp whl xlsx xz zip zst
    """.split(separator: " "))

  static func matches(_ head: ResponseHead?, named name: String) -> Bool {
    // Most names are decided without reading the head.
    guard let dot = name.utf8.lastIndex(of: .dot),
      endings.contains(Substring(name[name.utf8.index(after: dot)...].lowercased()))
    else { return false }
    return ["text/html", "application/xhtml+xml"].contains(ExpectedTypes.name(head?["content-type"] ?? ""))
  }
}
