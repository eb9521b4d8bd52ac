/// What a command reads on its standard input.
public enum CommandInput: Sendable {
  /// These bytes and then the end; none by default.
  case bytes([UInt8])
  /// A pipe that the test feeds with `write` and ends with `closeInput`.
  case open
}
