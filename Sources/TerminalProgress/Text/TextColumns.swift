/// Lines of a table that is printed as a whole, with at least one blank between columns.
package enum TextColumns {
  /// - Parameter widths: negative for right-aligned columns; 0 for a last column.
  package static func lines(_ rows: [[String]], _ widths: [Int]) -> [String] { rows.map { line($0, widths) } }

  package static func line(_ texts: [String], _ widths: [Int]) -> String {
    zip(texts, widths).map { text, width in
      let blanks = String(repeating: " ", count: width == 0 ? 0 : max(1, abs(width) - text.count))
      return width < 0 ? blanks + text : text + blanks
    }.joined()
  }
}
