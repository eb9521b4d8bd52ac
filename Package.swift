// swift-tools-version: 6.2
import PackageDescription

// Targets stand in dependency order; an arrow of this file is a permission ("may import"), checked by Config/walls.

// A package with flags that SwiftPM calls unsafe cannot be a dependency of another, so they are there only for Config/build.
let isOwnBinary = Context.environment["DLM_OWN_BINARY"] != nil
let optimization: [SwiftSetting] = isOwnBinary ? [.unsafeFlags(["-cross-module-optimization"])] : []

let settings: [SwiftSetting] =
  optimization + [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
  ]

// That optimization leaves out what is `package`, unless a room is serialized with all that is in it. The one that every
// other imports is; of FileReceiving, Swift 6.3 crashes on it.
let serialization: [SwiftSetting] = isOwnBinary ? [.unsafeFlags(["-Xllvm", "-sil-cross-module-serialize-all"])] : []

let package = Package(
  name: "dlm",
  products: [
    .executable(name: "dlm", targets: ["dlm"]),
    .executable(name: "dlm-serve", targets: ["dlm-serve"]),
    .library(name: "Downloads", targets: ["Downloads"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.0")),
    .package(url: "https://github.com/apple/swift-collections", .upToNextMinor(from: "1.6.0")),
    .package(url: "https://github.com/apple/swift-system", .upToNextMinor(from: "1.8.0")),
    // Only for dlm-serve.
    .package(url: "https://github.com/apple/swift-nio", .upToNextMinor(from: "2.101.0")),
    .package(url: "https://github.com/swiftlang/swift-subprocess", .upToNextMinor(from: "1.0.0")),
  ],
  targets: [
    // Level 0
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CCoding", providers: [.apt(["zlib1g-dev", "libbrotli-dev"])]),
    .systemLibrary(name: "CDigest", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CIDN", providers: [.apt(["libidn2-dev"])]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CMarkup", providers: [.apt(["libxml2"])]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .target(name: "DownloadModel", dependencies: ["CDigest", "CIDN"], swiftSettings: settings + serialization),

    // Level 1: these never import each other
    .target(
      name: "CurlTransport",
      dependencies: [
        "CCoding", "CCurl", "DownloadModel",
      ], swiftSettings: settings),
    .target(
      name: "FileReceiving",
      dependencies: [
        "CLinux", "DownloadModel", .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: settings),
    .target(
      name: "DownloadCaching",
      dependencies: [
        "CSQLite", "DownloadModel", "FileReceiving",
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: settings),
    .target(
      name: "RunDoors",
      dependencies: [
        "DownloadModel", "FileReceiving", .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: settings),
    .target(
      name: "DownloadScheduling",
      dependencies: [
        "DownloadModel", .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
      ],
      swiftSettings: settings),
    .target(
      name: "TerminalProgress",
      dependencies: ["DownloadModel", .product(name: "HeapModule", package: "swift-collections")],
      swiftSettings: settings),
    .target(name: "DemoOrigin", dependencies: ["CLinux", "DownloadModel"], swiftSettings: settings),

    // Level 2
    .target(
      name: "Comparing", dependencies: ["DownloadModel", "TerminalProgress"], swiftSettings: settings),
    .target(
      name: "Downloads",
      dependencies: [
        "DownloadModel", "CurlTransport", "DownloadCaching", "DownloadScheduling", "FileReceiving",
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: settings),

    // Level 3
    .executableTarget(
      name: "dlm",
      dependencies: [
        "DownloadModel", "CurlTransport", "DownloadCaching", "DownloadScheduling", "Downloads", "FileReceiving",
        "Comparing", "TerminalProgress", "DemoOrigin", "RunDoors", "CLinux", "CMarkup",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: settings,
      // A transfer is some sixty small allocations, half of them libcurl's: glibc's malloc is a sixth of its time.
      // Release builds only, since the sanitizers bring their own.
      linkerSettings: [.linkedLibrary("mimalloc", .when(configuration: .release))]),

    // The page. A program of its own, so that dlm carries no server.
    .executableTarget(
      name: "dlm-serve",
      dependencies: [
        "DownloadModel", "FileReceiving", "RunDoors",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "Subprocess", package: "swift-subprocess"),
        .product(name: "SystemPackage", package: "swift-system"),
      ], resources: [.embedInCode("Page.html")], swiftSettings: settings),

    // Uses the library as another package does: what is `package` is closed to it.
    .executableTarget(
      name: "LibraryUser", dependencies: ["Downloads"], path: "Tests/LibraryUser", packageAccess: false,
      swiftSettings: [.swiftLanguageMode(.v6)]),

    // Tests: one target a room, and the program from outside
    .target(
      name: "TestSupport", dependencies: ["DownloadModel"], path: "Tests/TestSupport",
      exclude: [
        "Servers/delayed_origin.py", "Servers/doh_server.py", "Servers/http2_origin.py", "Servers/socks_server.py",
        "Servers/tls_origin.py", "Servers/ftp_server.py", "Servers/s3_server.py", "Servers/moto_server.py",
        "Terminal/terminal.py",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "TestSupportTests", dependencies: ["TestSupport", "DownloadModel"], swiftSettings: settings),
    .testTarget(
      name: "DownloadModelTests", dependencies: ["DownloadModel", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "CurlTransportTests", dependencies: ["CCurl", "CurlTransport", "DownloadModel", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "DownloadCachingTests",
      dependencies: [
        "DownloadCaching", "DownloadModel", "FileReceiving", "TestSupport",
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: settings),
    .testTarget(
      name: "RunDoorsTests",
      dependencies: [
        "DownloadModel", "FileReceiving", "RunDoors", "TestSupport",
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: settings),
    .testTarget(
      name: "FileReceivingTests",
      dependencies: [
        "DownloadModel", "FileReceiving", "TestSupport",
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: settings),
    .testTarget(
      name: "DownloadSchedulingTests", dependencies: ["DownloadScheduling", "DownloadModel", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "ComparingTests",
      dependencies: ["Comparing", "DownloadModel", "TerminalProgress", "TestSupport"],
      exclude: ["Browser/browser.py"], swiftSettings: settings),
    .testTarget(
      name: "DownloadsTests",
      dependencies: [
        "Downloads", "LibraryUser", "DownloadCaching", "DownloadModel", "DownloadScheduling", "FileReceiving",
        "TestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "TerminalProgressTests", dependencies: ["TerminalProgress", "DownloadModel", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "DemoOriginTests", dependencies: ["DemoOrigin", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "DLMServeTests",
      dependencies: ["dlm-serve", "dlm", "DownloadModel", "RunDoors", "TestSupport"],
      exclude: ["Browser/page.py"], swiftSettings: settings),
    .testTarget(
      name: "dlmTests",
      dependencies: [
        "dlm", "TestSupport", "CurlTransport", "DownloadCaching", "DownloadModel", "DownloadScheduling",
        "FileReceiving", "RunDoors",
        "Comparing", "TerminalProgress",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "SystemPackage", package: "swift-system"),
      ], swiftSettings: settings),
  ]
)

// Tests are most of a build, so Config/sanitize builds only those that it runs.
if let tests = Context.environment["DLM_TESTS"]?.split(separator: " ").map(String.init) {
  package.targets.removeAll { $0.isTest && !tests.contains($0.name) }
}
