import Testing

@testable import DemoOrigin

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
