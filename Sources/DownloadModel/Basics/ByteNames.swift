/// The bytes that separate the parts of names, URLs and lines.
extension UInt8 {
  @inlinable package static var slash: UInt8 { UInt8(ascii: "/") }
  @inlinable package static var dot: UInt8 { UInt8(ascii: ".") }
  @inlinable package static var dash: UInt8 { UInt8(ascii: "-") }
  @inlinable package static var newline: UInt8 { UInt8(ascii: "\n") }
  @inlinable package static var blank: UInt8 { UInt8(ascii: " ") }
  @inlinable package static var quote: UInt8 { UInt8(ascii: "\"") }
  @inlinable package static var carriageReturn: UInt8 { UInt8(ascii: "\r") }
  @inlinable package static var backslash: UInt8 { UInt8(ascii: "\\") }
  @inlinable package static var equals: UInt8 { UInt8(ascii: "=") }
  @inlinable package static var colon: UInt8 { UInt8(ascii: ":") }
  @inlinable package static var semicolon: UInt8 { UInt8(ascii: ";") }
  @inlinable package static var comma: UInt8 { UInt8(ascii: ",") }
  @inlinable package static var atSign: UInt8 { UInt8(ascii: "@") }
  @inlinable package static var numberSign: UInt8 { UInt8(ascii: "#") }
  @inlinable package static var questionMark: UInt8 { UInt8(ascii: "?") }
  @inlinable package static var percent: UInt8 { UInt8(ascii: "%") }
}
