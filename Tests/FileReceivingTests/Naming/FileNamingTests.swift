import DownloadModel
import Testing

@testable import FileReceiving

@Suite("Names from addresses (HTTP rule 22)")
struct FileNamingTests {
  @Test(arguments: [
    ("http://h/a/file.bin", "file.bin"),
    ("http://h/file.bin?x=1&y=/z", "file.bin"),
    ("http://h", "index.html"),
    ("http://h/", "index.html"),
    ("http://h/folder/", "index.html"),
    ("http://h/?q=1", "index.html"),
    ("http://h/a%20b.txt", "a b.txt"),
    ("http://h/a%2520b.txt", "a%20b.txt"),
    ("http://h/%E6%97%A5%E6%9C%AC.txt", "日本.txt"),
    ("http://h/日本.txt", "日本.txt"),
    ("http://h/%FF%FE.bin", "%FF%FE.bin"),
    ("http://h/100%.txt", "100%.txt"),
    ("http://h/a%2Fb%2Fc.txt", "c.txt"),
    ("http://h/..%2F..%2Fetc%2Fpasswd", "passwd"),
    ("http://h/a%5Cb.txt", "b.txt"),
    ("http://h/..", "index.html"),
    ("http://h/.", "index.html"),
    ("http://h/%2E%2E", "index.html"),
    ("http://h/.gitignore", ".gitignore"),
    ("http://h/a%00b", "ab"),
    ("http://h/a%0A%1B[31mb", "a[31mb"),
    ("http://h/%20%20a%20", "a"),
    ("http://h/%20", "index.html"),
    ("http://h/gpj.%E2%80%AEexe.txt", "gpj.exe.txt"),
    ("http://h/x.part", "x.part_"),
    ("http://h/x.part.json", "x.part.json_"),
    ("http://h/x.PART.JSON", "x.PART.JSON_"),
    ("http://h/x.part.json.new", "x.part.json.new_"),
    ("http://h/package.json", "package.json"),
    ("http://h/a~b+c@d=e,f-1_2.tar.gz", "a~b+c@d=e,f-1_2.tar.gz"),
  ])
  func fromAddress(text: String, expected: String) throws {
    #expect(FileNaming.name(of: try Address(text)) == expected)
  }

  /// The folders of an address that the user wrote, and that a stranger's list did.
  @Test(
    arguments: [
      ("http://h/a/b/c.bin", "a/b", "a/b"), ("http://h/c", nil, nil), ("http://h", nil, nil),
      ("http://h/a/b/", "a/b", "a/b"), ("http://h//a///b", "a", "a"), ("http://h/../%2E%2e/./a/b", "a", "a"),
      ("http://h/a%2F..%2Fb/c", "b", "b"), ("http://h/%E6%97%A5/x", "日", "日"), ("http://h/a%00%1B[b/x", "a[b", "a[b"),
      ("http://h/.ssh/x", ".ssh", "_ssh"), ("http://h/%2Essh/x", "_ssh", "_ssh"),
      ("http://h/x.part.json/y", "x.part.json_", "x.part.json_"),
    ] as [(String, String?, String?)])
  func foldersOfAnAddress(text: String, user: String?, stranger: String?) throws {
    let address = try Address(text)
    for (provenance, expected) in [(Provenance.user, user), (.thirdParty, stranger), (.home, stranger)] {
      #expect(FileNaming.folder(of: address, from: provenance, keepsPath: true, prefixesHost: false) == expected)
      #expect(
        FileNaming.folder(of: address, from: provenance, keepsPath: true, prefixesHost: true)
          == "h" + (expected.map { "/" + $0 } ?? ""))
    }
  }

  @Test func foldersAreBounded() throws {
    let address = try Address("http://h:81/" + String(repeating: "a/", count: 9000))
    let folder = FileNaming.folder(of: address, from: .user, keepsPath: true, prefixesHost: true) ?? ""
    #expect(folder.hasPrefix("h:81/a/a") && FileNaming.isUsablePath(folder))
  }

  @Test(
    arguments: [
      ("a/b.bin", "a/b.bin"), (".ssh/authorized_keys", "_ssh/authorized_keys"), ("a/.bashrc", "a/_bashrc"),
      ("a\nb/\u{202E}c", "ab/c"), ("\u{202E}", nil), ("a/ ", "a"), ("-rf", "_rf"), ("a/--version", "a/_-version"),
      ("\u{1B}.x", "_x"), (" -x", "_x"), (".-x", "_-x"), ("-", "_"), ("a-b/c.-d", "a-b/c.-d"),
    ] as [(String, String?)])
  func whatAListMayName(path: String, expected: String?) {
    #expect(FileNaming.cleaned(path) == expected)
    if let expected { #expect(FileNaming.cleaned(expected) == expected, "cleaned twice") }
  }

  /// The user's own word: all but control characters.
  @Test(arguments: [
    (".ssh/-x", ".ssh/-x"), ("a\u{1B}[1m/\u{202E}b", "a[1m/b"), (".bash\nrc", ".bashrc"), ("plain/x", "plain/x"),
    ("x.part/ a ", "x.part/ a "), ("e\u{301}", "e\u{301}"),
  ])
  func whatTheUserMayName(path: String, expected: String) {
    #expect(FileNaming.cleaned(path, from: .user) == expected)
  }

  @Test(arguments: [
    ("http://h/-rf", "-rf", "_rf"), ("http://h/%2Drf", "_rf", "_rf"), ("http://h/--version", "--version", "_-version"),
    ("http://h/.x", ".x", "_x"), ("http://h/a-b", "a-b", "a-b"),
  ])
  func whoWroteTheURL(text: String, user: String, list: String) throws {
    let address = try Address(text)
    #expect(FileNaming.name(of: address) == user)
    for provenance in [Provenance.home, .thirdParty] {
      #expect(FileNaming.name(of: address, from: provenance) == list)
    }
    #expect(FileNaming.cleanedName(of: address) == (user == list ? nil : list))
  }

  @Test(arguments: [
    ("x.tar.gz", 0, "x.tar.gz"),
    ("x.tar.gz", 1, "x.1.tar.gz"),
    ("x.TAR.xz", 2, "x.2.TAR.xz"),
    (".tar.gz", 1, ".tar.1.gz"),
    ("x", 1, "x.1"),
    ("x.zip", 12, "x.12.zip"),
    ("a.b.c.zip", 1, "a.b.c.1.zip"),
    (".bashrc", 1, ".bashrc.1"),
    ("x.", 1, "x..1"),
    ("no. of things", 1, "no. of things.1"),
    ("x.averyverylongextension", 1, "x.averyverylongextension.1"),
    ("日本.txt", 3, "日本.3.txt"),
  ])
  func alternatives(name: String, number: Int, expected: String) {
    #expect(FileNaming.alternative(name, number) == expected)
  }

  @Test(arguments: [
    ("a.txt", true), ("", false), (".", false), ("..", false), ("a/b", false), ("/a", false), ("a\0b", false),
    ("x.part.json", false), ("x.part", true), ("-rf", true), (String(repeating: "n", count: 230), true),
    (String(repeating: "n", count: 231), false),
  ])
  func usersNames(name: String, isUsable: Bool) { #expect(FileNaming.isUsable(name) == isUsable) }

  @Test func longNamesAreCutAtACharacterAndKeepTheirExtension() throws {
    let cases = [
      (String(repeating: "a", count: 400) + ".tar.gz", ".tar.gz"),
      (String(repeating: "日", count: 200) + ".txt", ".txt"),
      (String(repeating: "👨‍👩‍👧", count: 60), ""),
      ("e" + String(repeating: "\u{301}", count: 300) + ".txt", ".txt"),
      (String(repeating: "a", count: 300) + "." + String(repeating: "b", count: 300), ""),
    ]
    for (name, ending) in cases {
      let short = try #require(NameSanitizer.sanitize(name))
      #expect(short.utf8.count <= FileNaming.longest)
      #expect(short.utf8.count > FileNaming.longest - 30)
      #expect(short.hasSuffix(ending))
      #expect(!short.unicodeScalars.contains("\u{FFFD}"))
      #expect(
        name.hasPrefix(short.dropLast(ending.count))
          || name.unicodeScalars.starts(with: short.dropLast(ending.count).unicodeScalars))
    }
  }

  /// A name cut to fit could end up as the name of a record.
  @Test func cuttingDoesNotMakeAReservedName() throws {
    let stem = String(repeating: "a", count: FileNaming.longest - ".part.json".utf8.count)
    let name = try #require(NameSanitizer.sanitize(stem + ".partition.json"))
    #expect(!PartialName.isReserved(name[...]))
  }
}
