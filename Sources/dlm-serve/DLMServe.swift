import DownloadModel
import Glibc
import RunDoors
import Synchronization
import SystemPackage

@main
enum DLMServe {
  /// The signal that ends the server.
  private static let ending = Atomic(SIGTERM)

  static func main() {
    EndSignals.hold()
    guard CommandLine.arguments.count == 2,
      let settings = PageSettings(json: CommandLine.arguments[1].utf8)
    else { end(64, "dlm-serve: start it with dlm serve") }
    // A reader that goes away is an error of the write (EPIPE), and must not end the process.
    signal(SIGPIPE, SIG_IGN)
    let token: AccessToken
    do { token = try AccessToken(in: FilePath(settings.state)) } catch {
      end(73, "dlm: \(settings.state): \(error): the token of the page cannot be kept there")
    }
    // Unstructured, because the main thread waits for signals.
    let serving = Task.detached {
      await serve(settings, token)
      EndSignals.end(by: ending.load(ordering: .relaxed))
    }
    ending.store(EndSignals.next(), ordering: .relaxed)
    serving.cancel()
    // A second one waits for nothing.
    EndSignals.end(by: EndSignals.next())
  }

  /// Returns only if the task is cancelled.
  private static func serve(_ settings: PageSettings, _ token: AccessToken) async {
    do {
      try await PageServer.run(on: settings.port) { port in
        say("http://127.0.0.1:\(port)/#\(token.text)", STDOUT_FILENO)
        let folder = JSONValue.text(settings.directory).text
        say("dlm: serving \(folder) until Ctrl-C; downloads go on after that", STDERR_FILENO)
        let gate = Gate(settings, port: port, token)
        return (gate, Site(settings, gate))
      }
    } catch  where !Task.isCancelled {
      let why = PageServer.cause(of: error)
      end(69, "dlm: port \(settings.port) cannot be opened: \(why); dlm serve --port 0 takes a free one")
    } catch {}
  }

  private static func say(_ line: String, _ stream: Int32) {
    // Without its reader, the server goes on.
    _ = try? FileDescriptor(rawValue: stream).writeAll((line + "\n").utf8)
  }

  private static func end(_ status: Int32, _ line: String) -> Never {
    say(line, STDERR_FILENO)
    exit(status)
  }
}
