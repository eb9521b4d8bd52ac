import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("The recipes of \"Many machines\", as they stand there", .serialized)
struct RecipeTests {
  /// `DLM_ENGINES=1` installs Slurm, Snakemake and Kubernetes' schema (Config/test), and runs what needs them.
  private static let areAsked = ProcessInfo.processInfo.environment["DLM_ENGINES"] != nil
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    .standardizedFileURL
  private static let modules = root.appending(path: ".build/engines").path

  /// The article's only block of a language.
  private static func recipe(_ language: String) throws -> String {
    let path = root.appending(path: "Sources/dlm/dlm.docc/ManyMachines.md")
    let blocks = try String(contentsOf: path, encoding: .utf8).components(separatedBy: "```\(language)\n").dropFirst()
    #expect(blocks.count == 1)
    return try #require(blocks.first?.components(separatedBy: "\n```").first) + "\n"
  }

  /// An origin of forty files, and a place whose commands find `dlm`. A shard that fails is the engine's to repeat.
  private struct Bench {
    let origin: FaultyOrigin
    let place: Workplace
    let programs: TestSupport.TemporaryFolder

    init(_ more: [String: String] = [:]) throws {
      (origin, programs) = (try FaultyOrigin(), try TestSupport.TemporaryFolder())
      let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
      let variables = ["PATH": "\(programs.path):\(path)", "TMPDIR": programs.path("tmp"), "DLM_RETRIES": "0"]
      place = try Workplace(variables.merging(more) { $1 })
      try programs.makeFolder("tmp")
      try programs.link("dlm", to: try DLMExecutable.path())
      for number in 0..<40 { origin.route("/f\(number)", .file(Self.body(number))) }
      _ = try place.list((0..<40).map { origin.url("/f\($0)") })
    }

    func shard(of number: Int) -> Int { Shard.number(of: origin.url("/f\(number)"), among: 20) }

    static func body(_ number: Int) -> [UInt8] { SplitMix64.bytes(count: 100, seed: UInt64(number)) }

    /// Unavailable once, so that one shard has to be fetched again.
    func failOnce() { origin.route("/f3", .status(503), .file(Self.body(3))) }

    func run(_ command: String, _ arguments: String...) async throws -> CommandResult {
      try await place.start(command, arguments).waitForExit()
    }

    func expectAll(of shards: Int = 20) async throws {
      let merge = try await run("sh", "-c", "dlm merge reports/*.json")
      #expect(merge.outputText == "40 of 40 files done; \(shards) reports of \(shards) shards\n", "\(merge)")
      #expect(try place.names(in: "files").count == 40)
      for number in 0..<40 { #expect(try place.file("files/f\(number)") == Self.body(number)) }
    }
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/parallel"), "needs GNU parallel"))
  func parallel() async throws {
    let bench = try Bench()
    defer { bench.origin.stop() }
    bench.failOnce()
    let run = try await bench.run("bash", "-c", try Self.recipe("sh"))
    #expect(run.status == 0, "\(run.errorText)")
    try await bench.expectAll()
    #expect(bench.origin.log.count { $0.path == "/f3" } == 2)
  }

  /// As Slurm starts it, each task in turn.
  @Test func slurmByHand() async throws {
    let bench = try Bench(["SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_JOB_ID": "7"])
    defer { bench.origin.stop() }
    bench.failOnce()
    try bench.programs.write("#!/bin/sh\necho \"$@\" >>requeued\n", to: "scontrol")
    #expect(chmod(bench.programs.path("scontrol"), 0o700) == 0)
    try bench.place.folder.write(try Self.recipe("bash"), to: "work/fetch.sh")
    let all = "for n in 1 2 3 4; do SLURM_ARRAY_TASK_ID=$n bash fetch.sh || again=\"$again $n $?\"; done; echo $again"
    let first = try await bench.run("bash", "-c", all).outputText.split(whereSeparator: \.isWhitespace)
    #expect(first.count == 2 && first.last == "75")
    #expect(String(decoding: try bench.place.file("requeued"), as: UTF8.self) == "requeue 7\n")
    let again = "SLURM_ARRAY_TASK_ID=\(first.first ?? "") SLURM_RESTART_COUNT=1 bash fetch.sh"
    #expect(try await bench.run("bash", "-c", again).status == 0)
    try await bench.expectAll(of: 4)
  }

  /// The container's command, as Kubernetes fills it in.
  @Test func kubernetesByHand() async throws {
    let bench = try Bench()
    defer { bench.origin.stop() }
    let recipe = try Self.recipe("yaml")
    let start = try #require(recipe.range(of: "command: ")).upperBound
    let end = try #require(recipe.range(of: "]", range: start..<recipe.endIndex)).upperBound
    let command = try JSONDecoder().decode([String].self, from: Data(recipe[start..<end].utf8))
    for index in [0, 19] {
      let words = command.map { $0.replacingOccurrences(of: "$(JOB_COMPLETION_INDEX)", with: "\(index)") }
      let run = try await bench.place.start("env", ["JOB_COMPLETION_INDEX=\(index)"] + words).waitForExit()
      #expect(run.status == 0, "\(run.errorText)")
    }
    let these = (0..<40).filter { [1, 20].contains(bench.shard(of: $0)) }
    #expect(try bench.place.names(in: "files") == these.map { "f\($0)" }.sorted())
    #expect(try bench.place.names().contains("19.json"))
  }

  // MARK: With the engines themselves

  @Test(.enabled(if: areAsked, "set DLM_ENGINES"))
  func kubernetesSchema() async throws {
    let place = try Workplace(["PYTHONPATH": Self.modules])
    try place.folder.write(try Self.recipe("yaml"), to: "work/job.yaml")
    func check() async throws -> CommandResult {
      try await place.start("/usr/bin/python3", ["\(Self.modules)/bin/kubernetes-validate", "--strict", "job.yaml"])
        .waitForExit()
    }
    let right = try await check()
    #expect(right.status == 0, "\(right.outputText)\(right.errorText)")
    try place.folder.write(
      try Self.recipe("yaml").replacingOccurrences(of: "completionMode", with: "completionMood"), to: "work/job.yaml")
    #expect(try await check().status != 0)
  }

  @Test(.enabled(if: areAsked, "set DLM_ENGINES"), .timeLimit(.minutes(hangMinutes)))
  func snakemake() async throws {
    let bench = try Bench(["PYTHONPATH": Self.modules])
    defer { bench.origin.stop() }
    bench.failOnce()
    try bench.place.folder.write(try Self.recipe("python"), to: "work/Snakefile")
    let run = try await bench.run("/usr/bin/python3", "-m", "snakemake", "--cores", "2")
    #expect(run.status == 0, "\(run.errorText)")
    try await bench.expectAll()
    #expect(bench.origin.log.count { $0.path == "/f3" } == 2)
  }

  /// A node whose daemon is killed while a shard waits for a file: Slurm gives the shard to another node, and both end
  /// it side by side. Another shard fails once, and asks to be started again.
  @Test(.enabled(if: areAsked && geteuid() == 0, "set DLM_ENGINES, as root"), .timeLimit(.minutes(hangMinutes)))
  func slurm() async throws {
    let cluster = try SlurmCluster()
    let bench = try Bench(["SLURM_CONF": cluster.settings])
    defer { bench.origin.stop() }
    try await cluster.start(localFolder: bench.programs.path("tmp"))
    do { try await runArray(bench, cluster) } catch {
      try await cluster.stop()
      throw error
    }
    try await cluster.stop()
  }

  private func runArray(_ bench: Bench, _ cluster: SlurmCluster) async throws {
    bench.failOnce()
    let gate = try Gate()
    let slow = try #require((4..<40).first { bench.shard(of: $0) != bench.shard(of: 3) })
    let path = "/f\(slow)"
    bench.origin.route(path, .file(Bench.body(slow), FileOptions(ending: .stall(after: 10, until: gate))))
    try bench.place.folder.write(try Self.recipe("bash"), to: "work/fetch.sh")
    let submitted = try await bench.run("sbatch", "fetch.sh")
    #expect(submitted.status == 0, "\(submitted.errorText)")
    try await bench.origin.wait(path: path, bodyBytesSent: 10)
    func queue() async throws -> [[Substring]] {
      let shown = try await bench.run("squeue", "--noheader", "--format=%i %T %N")
      return shown.outputText.split(separator: "\n").map { $0.split(separator: " ") }
    }
    // Only the shard that waits is left running; what is to be started again would wait for two minutes.
    var living: [Substring] = []
    while true {
      let all = try await queue()
      for job in all where job.count == 2 {
        _ = try await bench.run("scontrol", "update", "jobid=\(job[0])", "starttime=now")
      }
      if all.count == 1, let only = all.first, only.count == 3, only[1] == "RUNNING" {
        living = only
        break
      }
      try await Task.sleep(for: .milliseconds(200))
    }
    try await cluster.kill(String(living[2]))
    while bench.origin.log.count(where: { $0.path == path }) < 2 {
      for job in try await queue() where job.count == 2 {
        _ = try await bench.run("scontrol", "update", "jobid=\(job[0])", "starttime=now")
      }
      try await Task.sleep(for: .milliseconds(200))
    }
    gate.open()
    while try await !queue().isEmpty { try await Task.sleep(for: .milliseconds(200)) }
    try await bench.expectAll()
  }
}

/// Slurm on this machine: a controller, and three nodes of eight places.
private struct SlurmCluster {
  private let folder: TestSupport.TemporaryFolder
  var settings: String { folder.path("slurm.conf") }
  private static let first = Int.random(in: 10_000..<30_000)

  init() throws {
    folder = try TestSupport.TemporaryFolder()
    let (path, host) = (folder.path, ProcessInfo.processInfo.hostName.prefix { $0 != "." })
    try folder.write(
      """
      ClusterName=test
      SlurmctldHost=\(host)(127.0.0.1)
      SlurmctldPort=\(Self.first)
      SlurmUser=root
      AuthInfo=socket=\(path)/munge/socket
      StateSaveLocation=\(path)/state
      SlurmdSpoolDir=\(path)/%n
      SlurmctldPidFile=\(path)/controller.pid
      SlurmdPidFile=\(path)/%n.pid
      SlurmctldLogFile=\(path)/controller.log
      SlurmdLogFile=\(path)/%n.log
      ProctrackType=proctrack/linuxproc
      TaskPlugin=task/none
      SelectType=select/cons_tres
      SelectTypeParameters=CR_CPU
      SlurmdParameters=config_overrides
      SlurmdTimeout=5
      NodeName=n[1-3] NodeHostname=\(host) NodeAddr=127.0.0.1 Port=[\(Self.first + 1)-\(Self.first + 3)] CPUs=8
      PartitionName=all Nodes=ALL Default=YES

      """, to: "slurm.conf")
  }

  /// - Parameter localFolder: what is each node's own there.
  func start(localFolder: String) async throws {
    try await run(
      """
      mkdir state munge n1 n2 n3 local1 local2 local3
      head -c 1024 /dev/urandom >key; chmod 400 key
      munged --force --key-file=$PWD/key --socket=$PWD/munge/socket --pid-file=$PWD/munged.pid \
        --log-file=$PWD/munge/log --seed-file=$PWD/munge/seed
      slurmctld -c
      for n in 1 2 3; do
        unshare -m sh -ec "mount --bind $PWD/local$n \(localFolder); exec slurmd -N n$n -c"
      done
      """)
  }

  /// As the kernel does where memory is short: what runs on the node lives on.
  func kill(_ node: String) async throws { try await run("kill -9 $(cat \(node).pid)") }

  func stop() async throws { try await run("kill $(cat *.pid) || true") }

  private func run(_ script: String) async throws {
    let environment = ProcessInfo.processInfo.environment.merging(["SLURM_CONF": settings]) { $1 }
    let result = try await CommandRun.result(
      of: "sh", ["-ec", script], environment: environment, folder: folder.path)
    if result.status != 0 { throw SupportFailure("\(result.errorText)") }
  }
}

@Suite("The recipes of \"Runs without a terminal\", as they stand there")
struct DetachedRecipeTests {
  /// Each block of a language, as a file of systemd's; where the machine has none, only its form is known.
  @Test func aUnitAndATimer() async throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
    let text = try String(contentsOf: root.appending(path: "Sources/dlm/dlm.docc/Detached.md"), encoding: .utf8)
    let runtime = try TestSupport.TemporaryFolder()
    let place = try Workplace(["XDG_RUNTIME_DIR": runtime.path])
    for (language, name) in [("ini", "dlm.service"), ("systemd", "dlm.timer")] {
      let block = try #require(text.components(separatedBy: "```\(language)\n").dropFirst().first)
      var unit = try #require(block.components(separatedBy: "\n```").first)
      unit = unit.replacingOccurrences(of: "ExecStart=dlm", with: "ExecStart=\(try DLMExecutable.path())")
      _ = try place.folder.write(Array("\(unit)\n".utf8), to: "work/\(name)")
    }
    for word in ["[Service]", "ExecStart=", "--progress plain", "SuccessExitStatus=75", "OnCalendar="] {
      #expect(text.contains(word), "\(word)")
    }
    guard access("/usr/bin/systemd-analyze", X_OK) == 0 else { return }
    for name in ["dlm.service", "dlm.timer"] {
      let run = try place.start("/usr/bin/systemd-analyze", ["--user", "verify", "\(place.work)/\(name)"])
      let said = try await run.waitForExit()
      #expect(said.status == 0, "\(said.errorText)")
    }
  }
}
