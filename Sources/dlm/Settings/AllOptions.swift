/// The options of a `get` by themselves. A command's groups are copied whole each time one is read, and the table reads
/// each option.
struct AllOptions {
  var own: GetOptions
  var lists: ListOptions
  var shared: RunOptions
}

extension GetCommand {
  /// Those of the options that may have values.
  var rows: [OptionTable.Row] { OptionTable.rows.filter { given?.contains($0.name) != false } }

  var options: AllOptions {
    get { AllOptions(own: own, lists: lists, shared: shared) }
    set {
      own = newValue.own
      lists = newValue.lists
      shared = newValue.shared
    }
  }
}
