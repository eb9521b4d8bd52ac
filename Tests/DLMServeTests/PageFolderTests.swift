import Foundation
import TestSupport
import Testing

@testable import dlm_serve

/// Reports: pages and RPC servers that write or read outside of their folder (webui-aria2 599, AriaNg 817).
@Suite("Which folders and names the page takes")
struct PageFolderTests {
  @Test func folders() throws {
    let place = try TemporaryFolder()
    let root = URL(filePath: place.path("root")).path
    try FileManager.default.createDirectory(atPath: "\(root)/inner", withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: place.path("root2"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: "\(root)/out", withDestinationPath: place.path("."))
    try FileManager.default.createSymbolicLink(atPath: "\(root)/nowhere", withDestinationPath: place.path("missing"))
    let folder = PageFolder(root: root)
    #expect(try folder.path(below: "") == root)
    for good in ["inner", "new", "inner/new/deeper"] { #expect(try folder.path(below: good) == "\(root)/\(good)") }
    for bad in ["..", "../root2", "inner/../..", "/etc", "out", "out/x", "nowhere", "nowhere/x", ".", "a//b", "a\0b"] {
      #expect(throws: PageFolder.Outside.self, "\(bad)") { try folder.path(below: bad) }
    }
    #expect(folder.contains(root) && folder.contains("\(root)/inner"))
    #expect(!folder.contains(place.path("root2")) && !folder.contains("\(root)/out") && !folder.contains("/"))
  }

  @Test(arguments: [
    (nil, "pasted", "txt"), ("", "pasted", "txt"), ("list.meta4", "list", "meta4"), ("my urls.csv", "myurls", "csv"),
    ("../../etc/passwd", "passwd", "txt"), (".bashrc", "bashrc", "txt"), ("a\nb.txt", "ab", "txt"),
    ("x.t/../y", "y", "txt"), ("é.jsön", "pasted", "jsn"),
  ])
  func listNames(name: String?, stem: String, ending: String) {
    let made = PageLists.fileName(for: name)
    #expect(made.hasPrefix("\(stem)-") && made.hasSuffix(".\(ending)"), "\(made)")
    #expect(made.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
  }

  @Test func pictureTypes() {
    let starts: [(String, [UInt8])] = [
      ("image/png", [0x89, 0x50, 0x4E, 0x47, 0x0D]), ("image/jpeg", [0xFF, 0xD8, 0xFF, 0xE0]),
      ("image/gif", Array("GIF89a".utf8)), ("image/webp", Array("RIFF1234WEBP".utf8)),
      ("image/avif", Array("1234ftypavif".utf8)),
    ]
    for (type, bytes) in starts { #expect(PictureLoader.mediaType(bytes) == type) }
    // A page under the name of a picture, and a drawing with a script.
    for text in ["<!doctype html>", "<svg xmlns=", "", "GIF", "RIFF1234WAVE"] {
      #expect(PictureLoader.mediaType(Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test func queries() {
    let target = PageRequest.Target("/api/picture?run=3&picture=a%2Fb%20c.png&x&run=4")
    #expect(target.path == "/api/picture")
    #expect(target.query == ["run": "3", "picture": "a/b c.png", "x": ""])
    #expect(PageRequest.Target("/?a=%zz%4").query == ["a": "%zz%4"])
  }
}
