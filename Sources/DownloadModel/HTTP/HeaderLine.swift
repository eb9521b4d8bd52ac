/// A header line as users write it: `Name: value`, or, as for curl, `Name;` for a field without a value.
package struct HeaderLine: Equatable {
  /// Lower case.
  package let name: String
  package let value: String

  package init(_ line: String) {
    let end = line.utf8.firstIndex { ":;".utf8.contains($0) } ?? line.endIndex
    name = OptionalWhiteSpace.trimmed(line[..<end]).lowercased()
    value = String(OptionalWhiteSpace.trimmed(Substring(line.utf8[end...].dropFirst())))
  }
}
