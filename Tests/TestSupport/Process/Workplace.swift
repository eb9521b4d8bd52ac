import Foundation

/// A user's place: a home of its own, so that no test meets another's cache, and a working folder.
package struct Workplace: Sendable {
  package let folder: TemporaryFolder
  private let variables: [String: String]

  /// What `dlm` takes from the tests' own environment: nothing that changes what it does. The rest (`CI`,
  /// which turns the bars off, once failed every test of questions; proxies; `DLM_…`; a locale) is a test's
  /// to set.
  private static let inherited: Set = ["PATH", "TMPDIR", "LD_LIBRARY_PATH"]
  private static let inheritedPrefixes = ["ASAN_", "TSAN_", "UBSAN_", "LSAN_"]

  /// - Parameters:
  ///   - disk: where it is; nil for the system's temporary folder.
  ///   - stallTimeout: long, because on a machine that is busy for 30 s `dlm` would ask again for what an origin holds
  ///     until its test lets it go; nil for `dlm`'s own.
  package init(_ more: [String: String] = [:], on disk: LoopDisk? = nil, stallTimeout: String? = "10m") throws {
    folder = try TemporaryFolder(in: disk?.path)
    var variables = ["LC_ALL": "C.UTF-8"]
    variables["DLM_STALL_TIMEOUT"] = stallTimeout
    for (name, value) in ProcessInfo.processInfo.environment
    where Self.inherited.contains(name) || Self.inheritedPrefixes.contains(where: name.hasPrefix) {
      variables[name] = value
    }
    variables["HOME"] = folder.path("home")
    for (variable, name) in [("CACHE", "cache"), ("STATE", "state"), ("CONFIG", "config")] {
      variables["XDG_\(variable)_HOME"] = folder.path("home/\(name)")
    }
    variables.merge(more) { $1 }
    self.variables = variables
    try FileManager.default.createDirectory(atPath: folder.path("work"), withIntermediateDirectories: true)
  }

  package var work: String { folder.path("work") }

  /// Runs `dlm` in the working folder to its end.
  package func dlm(_ arguments: String..., input: [UInt8] = []) async throws -> CommandResult {
    try await start(arguments, input: .bytes(input)).waitForExit()
  }

  package func dlm(_ arguments: [String]) async throws -> CommandResult { try await start(arguments).waitForExit() }

  package func start(_ arguments: [String], input: CommandInput = .bytes([])) throws -> CommandRun {
    try start(try DLMExecutable.path(), arguments, input: input)
  }

  /// Runs a command that runs `dlm`.
  package func start(_ command: String, _ arguments: [String], input: CommandInput = .bytes([])) throws
    -> CommandRun
  {
    try CommandRun(command, arguments, environment: variables, input: input, folder: work)
  }

  package func list(_ addresses: [String], name: String = "urls.txt") throws -> String {
    try folder.write(Array((addresses.joined(separator: "\n") + "\n").utf8), to: "work/\(name)")
  }

  /// Suspends until a file is at least so long.
  /// - Parameter signal: sent to a run at once, also while every thread of Swift's pool is busy for seconds.
  /// - Throws: after a long safety limit. The file system has no event that Foundation could wait for.
  package func wait(
    forSize size: Int, of name: String, toSend signal: Int32? = nil, to run: CommandRun? = nil
  ) async throws {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        let isThere = isThere(size, of: name)
        if isThere, let signal { run?.send(signal) }
        continuation.resume(
          with: isThere ? .success(()) : .failure(SupportFailure("\(name) did not grow to \(size) bytes")))
      }
    }
  }

  private func isThere(_ size: Int, of name: String) -> Bool {
    let end = ContinuousClock.now + safetyLimit
    while ContinuousClock.now < end {
      let attributes = try? FileManager.default.attributesOfItem(atPath: "\(work)/\(name)")
      if let length = attributes?[.size] as? Int, length >= size { return true }
      usleep(10_000)
    }
    return false
  }

  package func file(_ name: String) throws -> [UInt8] { try folder.read("work/\(name)") }
  package func names(in subfolder: String = "") throws -> [String] {
    try folder.names(in: "work/\(subfolder)")
  }
}

/// The built `dlm`, which the end-to-end tests run.
package enum DLMExecutable {
  /// Its absolute path: `DLM_BINARY` if that is set, else `dlm` beside the running test binary.
  /// - Throws: when there is no executable file.
  package static func path() throws(SupportFailure) -> String {
    try path(environment: ProcessInfo.processInfo.environment, testBinary: testBinary)
  }

  /// That of another program of this package, beside the running test binary.
  package static func path(of program: String) throws(SupportFailure) -> String {
    try path(environment: [:], testBinary: testBinary, program)
  }

  private static var testBinary: String {
    // Tests are run from the products folder. Without /proc the first argument says which it is.
    let link = "/proc/self/exe"
    let binary = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
    return binary ?? CommandLine.arguments[0]
  }

  static func path(
    environment: [String: String], testBinary: String, _ program: String = "dlm"
  ) throws(SupportFailure) -> String {
    let beside = URL(filePath: testBinary).deletingLastPathComponent().appending(path: program).path
    let candidate = environment["DLM_BINARY"] ?? beside
    guard FileManager.default.isExecutableFile(atPath: candidate) else {
      throw SupportFailure("no executable at \(candidate); build \(program) first, or name it in DLM_BINARY")
    }
    return candidate
  }
}

/// A name space of mounts for one run: disks of some MiB, a hosts file of one's own.
package enum NameSpace {
  /// Whether this machine lets its users have one.
  package static let isAllowed: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    process.arguments = ["-Urm", "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
    process.standardError = nil
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()
}
