public import DownloadModel
import Synchronization

/// Numbers the addresses of a list that give the same name, in the list's order: `README.md?1` becomes `README.md` and
/// `README.md?2` becomes `README.1.md` in every run and mode, whatever is answered first (HTTP rule 22). A name that
/// only one address gives costs nine bytes.
public final class NameNumbers: Sendable {
  /// The number of one line among those that give its name.
  public struct Place: Sendable, Equatable {
    /// Different addresses before it that give the same name.
    public var number: Int
    /// Whether the address itself stood in the list before.
    public var isRepeat: Bool
    /// Whether it stood there with other header lines: two answers would take turns under one name.
    var hasOtherHeaders = false
  }

  private let tables = Lock((names: NameTable(), headers: NameTable()))

  public init() {}

  /// The number of the list's next request.
  public func next(_ request: DownloadRequest) -> Place {
    let name =
      request.outputName.map { Hash.of($0.utf8) }
      ?? FileNaming.hash(ofNameOf: request.address, from: request.provenance)
    let (folder, address) = (Self.hash(request.folder), Hash.of(request.address.resource.utf8))
    let lines = request.headerLines.isEmpty ? 0 : Hash.of(request.headerLines.joined(separator: "\n").utf8)
    return tables.withLock { tables in
      var place = tables.names.next(name: name ^ folder, address: address ^ folder)
      if lines != 0 || place.isRepeat && !tables.headers.isEmpty {
        let headers = tables.headers.next(name: name ^ folder ^ address, address: lines)
        place.hasOtherHeaders = headers.number > 0 || lines != 0 && place.isRepeat && !headers.isRepeat
      }
      return place
    }
  }

  func last(of name: String, in folder: String?) -> Int {
    tables.withLock { $0.names.last(of: Hash.of(name.utf8) ^ Self.hash(folder)) }
  }

  /// Names in different folders are different names.
  private static func hash(_ folder: String?) -> UInt64 { folder.map { Hash.of($0.utf8) } ?? 0 }
}

extension DownloadRequest {
  /// - Returns: false if the list asks for the same file with other header lines before.
  @discardableResult
  public mutating func number(by names: NameNumbers) -> Bool {
    let place = names.next(self)
    (nameNumber, isRepeat) = (place.number, place.isRepeat)
    return !place.hasOtherHeaders
  }
}

/// The rule of `NameNumbers`, over hashes. A name that comes for the first time takes one word: forty bits of its hash,
/// in the slot that other bits select, and twenty-four bits of its address's. In one of a thousand lists of a million
/// lines two names may be taken for one; the second then gets a number that it does not need, the same in every run.
struct NameTable: Sendable {
  private var layers: [Layer] = []
  /// The highest number of each name that came again.
  private var last: [UInt64: Int] = [:]
  /// The numbers of the addresses that came behind the first one of their name.
  private var numbers: [UInt64: UInt32] = [:]
  private let limit: Int

  /// - Parameter limit: addresses that are kept; later ones, when they come twice, get a number each time.
  init(limit: Int = 1 << 16) { self.limit = limit }

  var isEmpty: Bool { layers.isEmpty }

  func last(of name: UInt64) -> Int { last[name] ?? 0 }

  mutating func next(name: UInt64, address: UInt64) -> NameNumbers.Place {
    guard let first = layers.lazy.compactMap({ $0.tag(of: name) }).first else {
      if layers.last?.isFull ?? true { layers.append(Layer(after: layers.count)) }
      layers[layers.count - 1].insert(name, address)
      return NameNumbers.Place(number: 0, isRepeat: false)
    }
    if first == Layer.tag(of: address) { return NameNumbers.Place(number: 0, isRepeat: true) }
    if let number = numbers[address] { return NameNumbers.Place(number: Int(number), isRepeat: true) }
    let number = last[name, default: 0] + 1
    last[name] = number
    if numbers.count < limit { numbers[address] = UInt32(clamping: number) }
    return NameNumbers.Place(number: number, isRepeat: false)
  }

  /// A hash table of fixed size with linear probing. When it is full the next is begun: nothing is ever copied.
  private struct Layer: Sendable {
    private var slots: [UInt64]
    private var room: Int

    private static let firstCapacity = 1 << 12
    private static let lastCapacity = 1 << 17
    private static let tagBits: UInt64 = 24

    init(after count: Int) {
      room = min(Self.lastCapacity, Self.firstCapacity << min(count, 16))
      slots = [UInt64](repeating: 0, count: room + room / 7)
    }

    var isFull: Bool { room == 0 }

    /// Never 0, which marks a free slot.
    static func tag(of address: UInt64) -> UInt64 { address & (1 << tagBits - 1) | 1 }

    /// The tag of the address that came with the name; nil if it is not here.
    func tag(of name: UInt64) -> UInt64? {
      let slot = slots[place(of: name)]
      return slot == 0 ? nil : slot & (1 << Self.tagBits - 1)
    }

    mutating func insert(_ name: UInt64, _ address: UInt64) {
      slots[place(of: name)] = name << Self.tagBits | Self.tag(of: address)
      room -= 1
    }

    /// The slot that holds the name, or the free one where it belongs. There is always a free one.
    private func place(of name: UInt64) -> Int {
      let wanted = name << Self.tagBits
      var index = Int(((name >> 32) * UInt64(slots.count)) >> 32)
      while slots[index] != 0, slots[index] ^ wanted >= 1 << Self.tagBits {
        index = index + 1 == slots.count ? 0 : index + 1
      }
      return index
    }
  }
}

/// A hash that is the same in every run, unlike Swift's own: names must not differ from run to run.
enum Hash {
  /// FNV-1a over the bytes, its bits then mixed as SplitMix64 does.
  static func of(_ bytes: some Collection<UInt8>) -> UInt64 {
    // A text's bytes one by one take ten times as long as the same bytes in memory.
    bytes.withContiguousStorageIfAvailable { SeededGenerator.mix(fnv($0)) } ?? SeededGenerator.mix(fnv(bytes))
  }

  private static func fnv(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
  }
}
