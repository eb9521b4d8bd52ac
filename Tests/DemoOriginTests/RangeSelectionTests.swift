import Testing

@testable import DemoOrigin

@Suite("Which part of a file a Range field asks for")
struct RangeSelectionTests {
  struct Row: Sendable {
    let field: String?
    var size = 100
    let selection: DemoAnswer.RangeSelection
  }

  @Test(arguments: [
    Row(field: nil, selection: .whole),
    Row(field: "bytes=0-9", selection: .part(0..<10)),
    Row(field: "bytes=0-0", selection: .part(0..<1)),
    Row(field: "bytes=90-", selection: .part(90..<100)),
    Row(field: "bytes=0-", selection: .part(0..<100)),
    Row(field: "bytes=90-200", selection: .part(90..<100)),
    Row(field: "bytes=-10", selection: .part(90..<100)),
    Row(field: "bytes=-200", selection: .part(0..<100)),
    Row(field: "Bytes= 5 - 6 ", selection: .part(5..<7)),
    Row(field: "bytes=99-99999999999999999999", selection: .part(99..<100)),
    Row(field: "bytes=100-", selection: .unsatisfiable),
    Row(field: "bytes=99999999999999999999-", selection: .unsatisfiable),
    Row(field: "bytes=-0", selection: .unsatisfiable),
    Row(field: "bytes=0-", size: 0, selection: .unsatisfiable),
    Row(field: "bytes=-5", size: 0, selection: .unsatisfiable),
    Row(field: "bytes=9-3", selection: .whole),
    Row(field: "bytes=0-1,5-6", selection: .whole),
    Row(field: "bytes=-", selection: .whole),
    Row(field: "bytes=+1-2", selection: .whole),
    Row(field: "bytes=a-b", selection: .whole),
    Row(field: "bytes 0-9", selection: .whole),
    Row(field: "lines=0-9", selection: .whole),
    Row(field: "", selection: .whole),
  ])
  func selects(row: Row) {
    #expect(DemoAnswer.RangeSelection(field: row.field, size: row.size) == row.selection)
  }
}
