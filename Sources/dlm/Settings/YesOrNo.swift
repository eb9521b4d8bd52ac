import ArgumentParser

/// A flag in the environment or a settings file.
struct YesOrNo: ExpressibleByArgument {
  let isOn: Bool

  init?(argument: String) {
    switch argument.lowercased() {
    case "1", "true", "yes", "on": isOn = true
    case "0", "false", "no", "off", "": isOn = false
    default: return nil
    }
  }
}
