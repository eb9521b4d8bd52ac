/// The colours of a scheme, as `#rrggbb`, by their names in the style sheet. On the paper each graphic has a contrast
/// of at least 3:1, each text of 4.5:1 (WCAG 2.2, 1.4.3 and 1.4.11), and consecutive phases also differ in lightness or
/// in height. `shade` is the background of highlighted parts, `line` only divides, and `muted` is for the bars of modes
/// that did not win.
enum PagePalette {
  static let light = [
    "paper": "#ffffff", "shade": "#f5f6f8", "ink": "#1b1f27", "soft": "#596170", "line": "#dfe3e8",
    "accent": "#2f6fdb", "muted": "#8591a3", "failed": "#c8102e", "p-queued": "#8c95a1", "p-lookup": "#12899b",
    "p-connect": "#9a430d", "p-tls": "#4c2189", "p-waiting": "#b9770e", "p-receiving": "#2f6fdb",
    "p-finishing": "#12543a",
  ]

  static let dark = [
    "paper": "#14171c", "shade": "#1c2027", "ink": "#e9ecf1", "soft": "#a3acba", "line": "#323842",
    "accent": "#6ba1f7", "muted": "#76818f", "failed": "#ff7a85", "p-queued": "#6f7885", "p-lookup": "#63d2e2",
    "p-connect": "#de7a48", "p-tls": "#cda9f8", "p-waiting": "#e3b341", "p-receiving": "#5f97f0",
    "p-finishing": "#8fe0b4",
  ]

  static func variables(_ palette: [String: String]) -> String {
    palette.map { "--\($0):\($1)" }.sorted().joined(separator: ";")
  }

  static let drawingStyle =
    "svg text{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;fill:var(--ink);"
    + "font-variant-numeric:tabular-nums}svg .strong{font-weight:600}svg .soft{fill:var(--soft)}"
    + ".row,.grid,.spread,.failed,.area{fill:none}.grid{stroke:var(--line)}.spread{stroke:var(--soft)}"
    + ".failed,.area{vector-effect:non-scaling-stroke}.failed{stroke:var(--failed);stroke-width:2}"
    + ".area{fill:var(--accent);fill-opacity:.18;stroke:var(--accent);stroke-width:1.25}"
    + ".bar{fill:var(--muted)}.bar.won{fill:var(--accent)}.run{fill:var(--paper);stroke:var(--ink)}"
    + ".run,.spread{stroke-width:1.25}.end{text-anchor:end}.middle{text-anchor:middle}"
    + ".alone,.stretched .shared{display:none}.stretched .alone{display:inline}"
    + FilePhase.allCases.map { ".\($0.style){stroke:var(--\($0.style))}" }.joined()
}
