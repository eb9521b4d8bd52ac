/// The files that an origin serves.
extension DemoFile {
  /// Three dozen files of mixed size, 7.4 MB: 3.3 s sequentially at 40 ms a request and 4 MB/s a connection. Because no
  /// file takes more than a quarter of a second and large ones are not last, sixteen at a time need a tenth.
  package static let standard = entries.enumerated().map {
    DemoFile(path: $1.path, size: $1.size, seed: UInt64($0 + 1))
  }

  /// `count` files, at least one, of one length: `/500x4096/0001.bin` and so on.
  package static func equal(_ count: Int, of size: Int) -> [DemoFile] {
    (1...count).map { number in
      let digits = String(number)
      let name = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
      return DemoFile(path: "/\(count)x\(size)/\(name).bin", size: size, seed: UInt64(number))
    }
  }

  private static let entries: [(path: String, size: Int)] = [
    ("/README.md", 6_214), ("/archives/atlas-2.4.1.tar.gz", 612_480), ("/archives/atlas-2.4.1.tar.gz.sha256", 96),
    ("/images/harbour-at-dawn.jpg", 318_905), ("/datasets/stations.csv", 84_377), ("/images/coastline.png", 241_118),
    ("/archives/fonts-serif.zip", 428_032), ("/text/field-notes.txt", 38_540), ("/images/thumb-001.webp", 9_312),
    ("/images/thumb-002.webp", 8_746), ("/datasets/temperatures-2023.csv", 540_219),
    ("/datasets/temperatures-2024.csv", 552_764), ("/images/lighthouse.jpg", 287_451), ("/text/glossary.md", 17_903),
    ("/archives/textures.tgz", 745_312), ("/images/map-north.png", 196_608), ("/images/map-south.png", 204_077),
    ("/datasets/catalogue.json", 131_072), ("/images/logo.svg", 4_096), ("/text/handbook.pdf", 389_120),
    ("/datasets/borders.geojson", 266_845), ("/images/thumb-003.webp", 9_127), ("/archives/plugins.zip", 352_256),
    ("/datasets/sensors.parquet", 471_859), ("/images/night-sky.jpg", 402_313), ("/text/changelog.txt", 22_118),
    ("/images/icon-512.png", 48_640), ("/datasets/wind.parquet", 181_236), ("/images/market.jpg", 173_904),
    ("/archives/icons.tar.gz", 158_720), ("/text/licence.txt", 11_358), ("/datasets/schema.json", 2_731),
    ("/images/garden.jpg", 149_501), ("/text/guide.pdf", 127_344), ("/archives/samples.zip", 142_336),
    ("/images/thumb-004.webp", 8_990),
  ]
}
