// swift-tools-version: 6.2
import PackageDescription

// Another program than dlm, in a package of its own, which uses the product Downloads. Its files are what the
// library's documentation quotes; DownloadsTests builds and runs it.

let package = Package(
  name: "LibraryUser",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "dlm", path: "../..")],
  targets: [
    .executableTarget(name: "LibraryUser", dependencies: [.product(name: "Downloads", package: "dlm")])
  ]
)
