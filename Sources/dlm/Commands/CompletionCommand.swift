public import ArgumentParser

struct CompletionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "completion", abstract: "Print the completion script of a shell.",
    discussion: """
      EXAMPLES
        dlm completion bash > ~/.local/share/bash-completion/completions/dlm
        dlm completion zsh > ~/.zfunc/_dlm
        dlm completion fish > ~/.config/fish/completions/dlm.fish
      """)

  @Argument(help: "The shell.") var shell: CompletionShell

  func run() throws { try StandardOutput.write(DLM.completionScript(for: shell) + "\n") }
}

extension CompletionShell: @retroactive ExpressibleByArgument {}
