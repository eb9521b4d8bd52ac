/// The command that a user may run again, quoted for a shell.
enum CommandLineWords {
  /// - Parameters:
  ///   - arguments: of this process, without its own name.
  ///   - usesStandardInput: the list came through a pipe, which is gone; `dlm get` knows it by now.
  static func again(_ arguments: [String], usesStandardInput: Bool) -> String {
    // Options with secrets are not shown; nor can they be left out without changing what the command does.
    let mayHoldSecrets = arguments.contains {
      $0.contains("@") || $0.hasPrefix("-H") || $0.hasPrefix("--header")
    }
    if mayHoldSecrets { return "run the same command" }
    let kept = usesStandardInput ? arguments.filter { $0 != "-" } : arguments
    return (["dlm"] + kept.map(quoted)).joined(separator: " ")
  }

  static func quoted(_ argument: String) -> String {
    let isPlain = argument.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "-_./:=,+%@".utf8.contains(byte)
      }
    }
    if isPlain, !argument.isEmpty { return argument }
    return "'" + argument.replacing("'", with: "'\\''") + "'"
  }
}
