import Synchronization

/// One file that the user requested: a line of a list, or a URL on the command line.
public struct DownloadRequest: Sendable, Identifiable {
  /// Position in the run, from 0: unique in the run, and in the order of the list.
  public var id: Int
  package let key: Key
  /// How many different URLs before it in the list give the same name: the number that goes into its name.
  package var nameNumber = 0
  /// Whether an earlier line of the list has the same URL.
  package var isRepeat = false
  /// Whether it goes before others (`--first`, the line's own `first=yes`, or during the run).
  package private(set) var isFirst: Bool
  /// Not part of the key, which is kept longer.
  package var pieces: PieceHashes?
  /// The mirrors that its own server's answer named; set when a mirror is used.
  package private(set) var named: NamedMirrors?
  /// Index of the source that is used: 0 for its own URL, else a mirror's position from 1.
  package private(set) var mirror: UInt16 = 0
  /// -1 for unknown, because an optional would take twice the space in every request.
  private let expected: Int64

  /// Its own URL, whichever mirror is used.
  public var address: Address { key.address }
  /// The name that the user chose (`--output`); `nil` lets the server and the URL decide (RFC 6266).
  package var outputName: String? { key.wishes?.outputName }
  /// Below the run's own folder, without a slash at either end; `nil` for that folder itself.
  package var folder: String? { key.wishes?.folder }
  package var checksum: ContentDigest? { key.wishes?.checksum }
  /// The length in bytes that its list declares; a file of another length fails.
  package var declaredSize: Int64? { key.wishes?.size }
  package var expectedTypes: ExpectedTypes? { key.wishes?.expectedTypes }
  /// Only for this URL's server, in addition to those of the run.
  package var headerLines: [String] { key.wishes?.headerLines ?? [] }
  /// Other URLs of the same file, in the order in which they are tried.
  package var mirrors: [Address] { (key.wishes?.mirrors ?? []) + (named?.mirrors ?? []) }
  package var isAtMirror: Bool { mirror > 0 }
  /// The URL from which it is downloaded.
  package var source: Address { mirror == 0 ? address : mirrors[Int(mirror) - 1] }
  package var provenance: Provenance { key.wishes?.provenance ?? .user }
  /// Who chose the source's URL. A mirror of another origin is a list's choice, also in a list of the user's: the
  /// user's secrets for the file's own server do not go there (HTTP rule 49).
  package var sourceProvenance: Provenance {
    isAtMirror && !source.isSameOrigin(as: address) ? .thirdParty : provenance
  }
  /// Whether a list chose more than the file's URL: the mirror that is used, or a third party's header lines. Then the
  /// answer may not be that of the URL's owner (HTTP rules 47 and 48).
  package var isSteered: Bool { isAtMirror || provenance != .user && !headerLines.isEmpty }

  package init(
    id: Int, address: Address, wishes: Wishes? = nil, isFirst: Bool = false, expectedSize: Int64? = nil,
    pieces: PieceHashes? = nil
  ) {
    self.id = id
    self.pieces = pieces
    key = Key(address: address, wishes: wishes)
    self.isFirst = isFirst
    expected = expectedSize ?? -1
  }

  /// The same file, before others.
  package var first: DownloadRequest {
    var request = self
    request.isFirst = true
    return request
  }

  /// The same file with its next source; `nil` if this is the last one.
  /// - Parameters:
  ///   - named: by the last answer. Mirrors named by a mirror's answer are ignored.
  ///   - error: of this source. Who answers with a wrong certificate must not send the user to an open connection.
  package func atNextSource(_ named: NamedMirrors?, after error: DownloadError? = nil) -> DownloadRequest? {
    var next = self
    if !isAtMirror { next.named = named }
    guard mirror < .max, mirror < next.mirrors.count else { return nil }
    next.mirror += 1
    let isProved = checksum?.algorithm.findsForgery == true || pieces != nil
    return error?.code == .certificate && !next.source.scheme.isEncrypted && !isProved ? nil : next
  }

  /// Its length in bytes, if known before the request; may be an estimate.
  package var expectedSize: Int64? { expected < 0 ? nil : expected }

  /// Whether a file of that length matches the declared size.
  package func allows(size: Int64) -> Bool { declaredSize.map { $0 == size } ?? true }

  /// Requests with equal keys ask for one file under one name, whatever credentials and signatures their URLs have.
  /// Those with equal credentials and signatures are coalesced; the others run one after the other.
  package struct Key: Sendable, Hashable {
    package let address: Address
    package let wishes: Wishes?

    package init(address: Address, wishes: Wishes? = nil) {
      self.address = address
      self.wishes = wishes
    }

    package static func == (left: Key, right: Key) -> Bool {
      guard left.address.isSameResource(as: right.address) else { return false }
      return left.wishes === right.wishes || (left.wishes ?? .none).isOfSameFile(as: right.wishes ?? .none)
    }

    /// Only the address, which stores its hash: the other fields rarely differ.
    package func hash(into hasher: inout Hasher) { hasher.combine(address.resourceHash) }
  }

  /// Properties that most requests lack; behind one reference, because a request is passed on at each step.
  package final class Wishes: Sendable, Equatable {
    package let outputName, folder: String?
    /// In bytes, as the list declares it; `nil` if it gives an estimate or nothing.
    package let size: Int64?
    package let checksum: ContentDigest?
    package let expectedTypes: ExpectedTypes?
    package let headerLines: [String]
    package let mirrors: [Address]
    package let provenance: Provenance

    fileprivate static let none = Wishes()

    package init(
      outputName: String? = nil, folder: String? = nil, size: Int64? = nil, checksum: ContentDigest? = nil,
      expectedTypes: ExpectedTypes? = nil, headerLines: [String] = [], mirrors: [Address] = [],
      provenance: Provenance = .user
    ) {
      self.outputName = outputName
      self.folder = folder
      self.size = size
      self.checksum = checksum
      self.expectedTypes = expectedTypes
      self.headerLines = headerLines
      self.mirrors = mirrors
      self.provenance = provenance
    }

    package static func == (left: Wishes, right: Wishes) -> Bool { left === right }

    /// Sizes, types, header lines and mirrors do not make another file of it.
    fileprivate func isOfSameFile(as other: Wishes) -> Bool {
      ByteText.areSame(outputName, other.outputName) && ByteText.areSame(folder, other.folder)
        && checksum == other.checksum && provenance == other.provenance
    }
  }
}

/// The media types that a file may have (`--expect`, or the line's own `expect=`).
package struct ExpectedTypes: Sendable, Equatable, CustomStringConvertible {
  /// Such as `image/*`, in lower case.
  package let types: [String]
  package var description: String { types.joined(separator: ",") }

  /// - Parameter text: types, separated by commas; `nil` for anything else.
  package init?(argument text: String) {
    types = text.split(separator: ",", omittingEmptySubsequences: false).map { Self.name($0) }
    guard types.allSatisfy({ $0.wholeMatch(of: /[^\/ ]+\/[^\/ ]+/) != nil }) else { return nil }
  }

  package static func name(_ field: some StringProtocol) -> String {
    let name = OptionalWhiteSpace.trimmed(Substring(field.prefix { $0 != ";" })).lowercased()
    return name == "image/jpg" ? "image/jpeg" : name
  }

  package func allow(_ type: String) -> Bool {
    types.contains { $0 == type || $0.hasSuffix("/*") && type.hasPrefix($0.dropLast()) }
  }
}

/// A source over a lazy sequence that is in memory and never blocks, such as the URLs of a command line.
package final class RequestList: RequestSource {
  private let rest: Lock<(iterator: AnyIterator<DownloadRequest>, left: Int?)>

  /// The sequence is moved in, so that no other code can still read from it.
  package init(_ requests: sending some Sequence<DownloadRequest>, count: Int? = nil) {
    rest = Lock((AnyIterator(requests.makeIterator()), count))
  }

  package nonisolated(nonsending) func next() async -> DownloadRequest? { Task.isCancelled ? nil : takeAtOnce() }

  package func takeAtOnce() -> DownloadRequest? {
    rest.withLock { rest in
      let request = rest.iterator.next()
      if request != nil { rest.left? -= 1 }
      return request
    }
  }

  package var outlook: SourceOutlook { SourceOutlook(left: rest.withLock { $0.left }) }
}

/// How one file ended.
package typealias DownloadResult = Result<DownloadOutcome, DownloadError>
