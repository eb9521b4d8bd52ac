import FoundationEssentials

/// The origin of a setting's value, strongest first.
struct SettingOrigin {
  /// `option`, `environment`, `file` or `built-in`, as in JSON.
  let kind: String
  var place: String?
  var line: Int?

  /// For messages: `DLM_JOBS`, `.dlm.conf:3`.
  var name: String { (place ?? kind) + (line.map { ":\($0)" } ?? "") }
}
