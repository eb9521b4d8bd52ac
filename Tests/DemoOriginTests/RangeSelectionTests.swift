import Testing

@testable import DemoOrigin

@Suite("Which part of a file a Range field asks for")
struct RangeSelectionTests {
  struct Row: Sendable {
    let field: String?
    var size = 100
    let selection: RangeSelection
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
    #expect(RangeSelection(field: row.field, size: row.size) == row.selection)
  }
}

@Suite("The conditions of a request")
struct FilePreconditionsTests {
  private static let date = "Sat, 01 Jun 2024 10:01:00 GMT"
  private let conditions = FilePreconditions(entityTag: "\"1-a\"", lastModified: Self.date)

  struct Row: Sendable {
    var noneMatch: String?
    var modifiedSince: String?
    let isUnchanged: Bool
  }

  @Test(arguments: [
    Row(isUnchanged: false),
    Row(noneMatch: "\"1-a\"", isUnchanged: true),
    Row(noneMatch: "W/\"1-a\"", isUnchanged: true),
    Row(noneMatch: "\"x\", W/\"y,z\", \"1-a\"", isUnchanged: true),
    Row(noneMatch: "*", isUnchanged: true),
    Row(noneMatch: "\"x\"", isUnchanged: false),
    Row(noneMatch: "1-a", isUnchanged: false),
    Row(noneMatch: "\"1-a", isUnchanged: false),
    Row(noneMatch: "", isUnchanged: false),
    Row(modifiedSince: date, isUnchanged: true),
    Row(modifiedSince: "Sat, 01 Jun 2024 10:02:00 GMT", isUnchanged: false),
    // A tag that does not match outweighs a date that does (RFC 9110 §13.2.2).
    Row(noneMatch: "\"x\"", modifiedSince: date, isUnchanged: false),
  ])
  func judgesWhatTheClientHas(row: Row) {
    #expect(
      conditions.isUnchanged(ifNoneMatch: row.noneMatch, ifModifiedSince: row.modifiedSince)
        == row.isUnchanged)
  }

  @Test(
    arguments: [
      (nil, true), ("\"1-a\"", true), (date, true), ("W/\"1-a\"", false), ("\"x\"", false),
      ("Sat, 01 Jun 2024 10:02:00 GMT", false),
    ] as [(String?, Bool)])
  func allowsARangeOfTheSameVersionOnly(field: String?, allows: Bool) {
    #expect(conditions.allowsRange(ifRange: field) == allows)
  }
}
