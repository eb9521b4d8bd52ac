import TestSupport

/// The curl tool as the origin's client: no `.curlrc`, no proxy, and a limit that only a hang reaches.
func curl(_ arguments: [String], folder: TemporaryFolder? = nil) async throws(SupportFailure) -> CommandResult
{
  try await CommandRun.result(
    of: "curl", ["-q", "-sS", "--noproxy", "*", "--max-time", "50"] + arguments, folder: folder?.path)
}
