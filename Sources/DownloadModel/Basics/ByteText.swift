/// A text from outside as a key: two are equal if their bytes are equal (HTTP rule 52). Swift's `String` compares by
/// canonical equivalence, but servers and file systems treat `é` and `e` with a combining accent as two names.
package struct ByteText: Hashable, Comparable, Sendable {
  package let text: String

  package init(_ text: some StringProtocol) { self.text = String(text) }

  package static func == (left: ByteText, right: ByteText) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

  package static func areSame(_ left: String?, _ right: String?) -> Bool {
    left.map(Self.init) == right.map(Self.init)
  }

  package static func < (left: ByteText, right: ByteText) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
