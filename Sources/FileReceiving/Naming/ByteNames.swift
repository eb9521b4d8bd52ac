/// The bytes that separate the parts of names and lines.
extension UInt8 {
  static var slash: UInt8 { UInt8(ascii: "/") }
  static var dot: UInt8 { UInt8(ascii: ".") }
  static var dash: UInt8 { UInt8(ascii: "-") }
  package static var newline: UInt8 { UInt8(ascii: "\n") }
  static var blank: UInt8 { UInt8(ascii: " ") }
  static var quote: UInt8 { UInt8(ascii: "\"") }
}
