import ArgumentParser

struct CompletionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "completion", abstract: "Print the completion script of a shell.",
    discussion: """
      EXAMPLES
        dlm completion bash > ~/.local/share/bash-completion/completions/dlm
        dlm completion zsh > ~/.zfunc/_dlm
        dlm completion fish > ~/.config/fish/completions/dlm.fish
      """)

  enum Shell: String, Choice { case bash, zsh, fish }

  @Argument(help: "The shell.") var shell: Shell

  func run() throws {
    let kind: CompletionShell =
      switch shell {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    try StandardOutput.write(DLM.completionScript(for: kind) + "\n")
  }
}
