import DownloadModel
import FileReceiving
import SystemPackage

struct RequestMarks {
  var form = ListForm()
  var outputName: String?
  var checksum: ContentDigest?
  /// The checksums of `--checksums`, by name.
  var checksums: ChecksumList?
  var first: [NamePattern] = []
  /// For files below the run's folder.
  var folder: String?
  /// The index's folder, if its sizes are needed.
  var indexFolder: FilePath?

  /// Whether a checksum given by the user, in addition to those of its line, proves a file.
  func isProvable(_ address: Address, _ options: LineOptions) -> Bool {
    let name = options.name ?? outputName ?? FileNaming.name(of: address)
    return (checksum ?? checksums?.digest(of: name))?.algorithm.findsForgery == true
  }

  /// `nil` for most requests, which have no such options.
  /// - Parameter naming: who chose its names: not the user in another program's list, whoever named the list.
  func wishes(
    of address: Address, _ options: LineOptions?, from provenance: Provenance, naming: Provenance
  ) -> DownloadRequest.Wishes? {
    var name = options?.name.flatMap { FileNaming.cleaned($0, from: naming) } ?? outputName
    let folders = [form.hasDirectory ? nil : options?.directory, self.folder, options?.folder].compactMap(\.self)
    var folder = folders.isEmpty ? nil : FileNaming.cleaned(folders.joined(separator: "/"), from: naming)
    if form.keepsPaths || form.prefixesHost, name == nil, folder == nil {
      folder = FileNaming.folder(of: address, from: naming, keepsPath: form.keepsPaths, prefixesHost: form.prefixesHost)
    }
    if name == nil, naming != .user, provenance == .user { name = FileNaming.cleanedName(of: address) }
    if options == nil, name == nil, checksum == nil, provenance == .user, folder == nil { return nil }
    return DownloadRequest.Wishes(
      outputName: name, folder: folder, size: options?.size, checksum: options?.checksum ?? checksum,
      expectedTypes: options?.expectedTypes, headerLines: options?.headerLines ?? [], mirrors: options?.mirrors ?? [],
      provenance: provenance)
  }
}
