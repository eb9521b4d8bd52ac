/// The three ways to run a list. See the strategies of DownloadScheduling, a file each.
public enum DownloadMode: String, Sendable, CaseIterable, Codable {
  case sequential
  case asyncLet = "async-let"
  case parallel
}
