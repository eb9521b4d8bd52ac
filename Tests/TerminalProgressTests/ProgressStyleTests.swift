import Testing

@testable import TerminalProgress

@Suite("How progress is shown")
struct ProgressStyleTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var style: ProgressStyle
    var isTerminal: Bool
    var variables: [String: String]
    var expected: ProgressStyle.Resolved
    var testDescription: String { "\(style), terminal \(isTerminal), \(variables)" }
  }

  @Test(arguments: [
    Case(style: .auto, isTerminal: true, variables: ["TERM": "xterm"], expected: .bars),
    Case(style: .auto, isTerminal: false, variables: ["TERM": "xterm"], expected: .plain),
    Case(style: .auto, isTerminal: true, variables: [:], expected: .plain),
    Case(style: .auto, isTerminal: true, variables: ["TERM": ""], expected: .plain),
    Case(style: .auto, isTerminal: true, variables: ["TERM": "dumb"], expected: .plain),
    Case(style: .auto, isTerminal: true, variables: ["TERM": "xterm", "CI": "true"], expected: .plain),
    Case(style: .auto, isTerminal: true, variables: ["TERM": "xterm", "CI": "false"], expected: .bars),
    Case(style: .auto, isTerminal: true, variables: ["TERM": "xterm", "CI": ""], expected: .bars),
    Case(style: .auto, isTerminal: true, variables: ["TERM": "xterm", "TF_BUILD": "True"], expected: .plain),
    Case(style: .bars, isTerminal: true, variables: ["TERM": "xterm", "CI": "1"], expected: .bars),
    Case(style: .bars, isTerminal: false, variables: ["TERM": "xterm"], expected: .plain),
    Case(style: .bars, isTerminal: true, variables: ["TERM": "dumb"], expected: .plain),
    Case(style: .plain, isTerminal: true, variables: ["TERM": "xterm"], expected: .plain),
    Case(style: .none, isTerminal: true, variables: ["TERM": "xterm"], expected: .none),
    Case(style: .none, isTerminal: false, variables: [:], expected: .none),
  ])
  func resolves(_ row: Case) {
    let environment = TerminalEnvironment(isTerminal: row.isTerminal, variables: row.variables)
    #expect(row.style.resolved(in: environment) == row.expected)
  }
}

@Suite("Whether text is coloured")
struct ColorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var isTerminal: Bool
    var variables: [String: String]
    var expected: Bool
    var testDescription: String { "terminal \(isTerminal), \(variables)" }
  }

  @Test(
    "NO_COLOR, CLICOLOR_FORCE or FORCE_COLOR, terminal",
    arguments: [
      Case(isTerminal: true, variables: ["TERM": "xterm"], expected: true),
      Case(isTerminal: false, variables: ["TERM": "xterm"], expected: false),
      Case(isTerminal: true, variables: ["TERM": "dumb"], expected: false),
      Case(isTerminal: true, variables: ["TERM": "xterm", "NO_COLOR": "1"], expected: false),
      Case(isTerminal: true, variables: ["TERM": "xterm", "NO_COLOR": ""], expected: true),
      Case(isTerminal: false, variables: ["FORCE_COLOR": "1"], expected: true),
      Case(isTerminal: false, variables: ["CLICOLOR_FORCE": "1"], expected: true),
      Case(isTerminal: false, variables: ["CLICOLOR_FORCE": "0"], expected: false),
      Case(isTerminal: false, variables: ["NO_COLOR": "1", "FORCE_COLOR": "1"], expected: false),
    ])
  func resolves(_ row: Case) {
    let environment = TerminalEnvironment(isTerminal: row.isTerminal, variables: row.variables)
    #expect(environment.isColored == row.expected)
  }
}

@Suite("What the environment says of the terminal")
struct TerminalEnvironmentTests {
  @Test(
    "the first of LC_ALL, LC_CTYPE, LANG that is set decides",
    arguments: [
      (["LANG": "de_DE.UTF-8"], false), (["LANG": "C.utf8"], false), (["LANG": "de_DE.ISO-8859-1"], true),
      ([:], true), (["LC_ALL": "C", "LANG": "de_DE.UTF-8"], true),
      (["LC_ALL": "", "LC_CTYPE": "en_US.UTF-8", "LANG": "C"], false),
      (["LC_ALL": "en_US.UTF-8", "LC_CTYPE": "C"], false), (["LANG": "de_DE.UTF-8", "TERM": "linux"], true),
    ])
  func choosesGlyphs(variables: [String: String], isASCII: Bool) {
    #expect(TerminalEnvironment(isTerminal: true, variables: variables).glyphs.isASCII == isASCII)
  }

  @Test(
    "only terminals known to take it",
    arguments: [
      (["WT_SESSION": "7"], true), (["ConEmuANSI": "ON"], true), (["ConEmuANSI": "OFF"], false),
      (["TERM_PROGRAM": "WezTerm"], true), (["TERM_PROGRAM": "ghostty"], true),
      (["TERM_PROGRAM": "iTerm.app"], false), ([:], false),
    ])
  func knowsTheTaskbar(variables: [String: String], expected: Bool) {
    let all = variables.merging(["TERM": "xterm"]) { $1 }
    #expect(TerminalEnvironment(isTerminal: true, variables: all).takesTaskbarProgress == expected)
    #expect(!TerminalEnvironment(isTerminal: false, variables: all).takesTaskbarProgress)
  }
}
