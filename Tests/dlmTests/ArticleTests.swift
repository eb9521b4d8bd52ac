import Foundation
import Testing

/// What README and articles name exists: an article is believed as long as its names lead somewhere.
struct ArticleTests {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    .standardizedFileURL

  static let articles: [String] = ["README.md"] + files(endingWith: ".md", below: "Sources")

  /// What is no name of dlm's own: header fields, words of other programs, of the system and of standards.
  private static let others: Set = [
    "Config", "Misbehaviour", "Tests",  // folders
    "Age", "Authorization", "Basic", "Character", "Content", "Date", "Digest", "Duration", "Expires", "Linux",
    "MemberImportVisibility", "Mutex", "Negotiate", "Package", "Range", "RateLimit", "SerialExecutor",
    "TaskExecutor", "TaskGroup", "Vary", "AsyncSequence", "Swift", "Sendable",
  ]

  @Test(arguments: articles) func everyNameStandsForSomething(article: String) throws {
    let names = try Self.codeSpans(in: article).flatMap { $0.split(separator: ".") }.filter(Self.isTypeName)
    let unknown = Set(names.map(String.init)).subtracting(Self.declared).subtracting(Self.others)
    #expect(unknown.sorted() == [])
  }

  @Test(arguments: articles) func everyPathIsThere(article: String) throws {
    for span in try Self.codeSpans(in: article) {
      guard let path = span.split(separator: " ").first, path.contains("/"),
        ["Sources/", "Tests/", "Config/"].contains(where: { path.hasPrefix($0) })
      else { continue }
      #expect(
        FileManager.default.fileExists(atPath: Self.root.appending(path: String(path)).path),
        "\(article): \(path)")
    }
  }

  @Test(arguments: articles) func everyLinkLeadsSomewhere(article: String) throws {
    let folder = Self.root.appending(path: article).deletingLastPathComponent()
    for match in try Self.text(of: article).matches(of: /\]\(([^)\s#]+)/) {
      let target = String(match.1)
      if target.contains("://") { continue }
      #expect(FileManager.default.fileExists(atPath: folder.appending(path: target).path), "\(article): \(target)")
    }
  }

  @Test func everyArticleIsInTheContents() throws {
    let contents = try Self.text(of: "Sources/dlm/dlm.docc/dlm.md").matches(of: /<doc:(\w+)>/).map { String($0.1) }
    let names = Self.articles.filter { $0.hasPrefix("Sources/dlm/") && !$0.hasSuffix("/dlm.md") }
      .map { String($0.split(separator: "/").last?.dropLast(3) ?? "") }
    #expect(contents.sorted() == names.sorted())
  }

  @Test func everyTestThatProvesARuleIsThere() throws {
    let proofs = try Self.codeSpans(in: "Sources/dlm/dlm.docc/Freshness.md").filter { $0.contains("Tests.") }
    #expect(!proofs.isEmpty)
    let unknown = Set(proofs.map { String($0.split(separator: ".")[1]) }).subtracting(Self.declared)
    #expect(unknown.sorted() == [])
  }

  /// Every name that the sources or the tests declare. Foundation's expressions, since Swift's take seconds where
  /// the standard library's code for them is not specialized.
  private static let declared: Set<String> = {
    let words = "struct|class|actor|enum|protocol|typealias|func|case|var|let|name:"
    guard let declaration = try? NSRegularExpression(pattern: "(?:\(words))\\s+\"?`?(\\w+)") else { return [] }
    let paths = files(endingWith: ".swift", below: "Sources") + files(endingWith: ".swift", below: "Tests")
    return (paths + ["Package.swift"]).reduce(into: []) { names, path in
      let text = NSString(string: (try? text(of: path)) ?? "")
      for match in declaration.matches(in: text as String, range: NSRange(location: 0, length: text.length)) {
        names.insert(text.substring(with: match.range(at: 1)))
      }
    }
  }()

  private static func isTypeName(_ name: Substring) -> Bool {
    name.first?.isUppercase == true && name.allSatisfy { $0.isLetter || $0.isNumber }
      && name.contains { $0.isLowercase }
  }

  /// What stands between single backticks, outside of blocks of code.
  /// - Parameter ofLastCells: only in the last cells of tables' rows.
  static func codeSpans(in article: String, ofLastCells: Bool = false) throws -> [Substring] {
    try text(of: article).split(separator: "```", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset.isMultiple(of: 2) }
      .flatMap { $0.element.split(separator: "\n") }
      .map { ofLastCells && $0.hasPrefix("|") ? $0.split(separator: "|").last ?? "" : $0 }
      .flatMap { $0.matches(of: /`([^`\n]+)`/).map { $0.1 } }
  }

  static func text(of path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  static func files(endingWith ending: String, below folder: String) -> [String] {
    let all = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
    return (all?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(ending) }.map { "\(folder)/\($0)" }
      .sorted()
  }
}
