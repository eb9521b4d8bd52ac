/// Content-Type (RFC 9110 §8.3) by the ending of a name.
enum DemoMediaType {
  static func of(path: String) -> String {
    switch path.split(separator: ".").last {
    case "csv": "text/csv"
    case "gz", "tgz": "application/gzip"
    case "jpg": "image/jpeg"
    case "json", "geojson": "application/json"
    case "md", "txt": "text/plain; charset=utf-8"
    case "pdf": "application/pdf"
    case "png": "image/png"
    case "svg": "image/svg+xml"
    case "webp": "image/webp"
    case "zip": "application/zip"
    default: "application/octet-stream"
    }
  }
}
