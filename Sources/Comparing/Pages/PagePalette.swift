/// The colours of a scheme, as `#rrggbb`. On the paper each graphic has a contrast of 3:1 at least, each text of 4.5:1
/// (WCAG 2.2, 1.4.3 and 1.4.11), and phases that follow each other differ in lightness or in height too.
struct PagePalette: Sendable {
  let paper: String
  /// Behind what stands out a little.
  let shade: String
  let ink: String
  let soft: String
  /// Lines that only divide.
  let line: String
  let accent: String
  /// Bars of modes that did not win.
  let muted: String
  let failed: String
  let phases: [FilePhase: String]

  static let light = PagePalette(
    paper: "#ffffff", shade: "#f5f6f8", ink: "#1b1f27", soft: "#596170", line: "#dfe3e8", accent: "#2f6fdb",
    muted: "#8591a3", failed: "#c8102e",
    phases: [
      .queued: "#8c95a1", .lookingUp: "#12899b", .connecting: "#9a430d", .securing: "#4c2189",
      .waiting: "#b9770e", .receiving: "#2f6fdb", .finishing: "#12543a",
    ])

  static let dark = PagePalette(
    paper: "#14171c", shade: "#1c2027", ink: "#e9ecf1", soft: "#a3acba", line: "#323842", accent: "#6ba1f7",
    muted: "#76818f", failed: "#ff7a85",
    phases: [
      .queued: "#6f7885", .lookingUp: "#63d2e2", .connecting: "#de7a48", .securing: "#cda9f8",
      .waiting: "#e3b341", .receiving: "#5f97f0", .finishing: "#8fe0b4",
    ])

  var variables: String {
    let all = [
      "paper": paper, "shade": shade, "ink": ink, "soft": soft, "line": line, "accent": accent, "muted": muted,
      "failed": failed,
    ].merging(phases.map { ($0.key.style, $0.value) }) { $1 }
    return all.map { "--\($0):\($1)" }.sorted().joined(separator: ";")
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

extension FilePhase {
  /// Its class in the style sheet.
  var style: String { "p-\(rawValue)" }

  public var name: String {
    switch self {
    case .lookingUp: "looking up"
    case .connecting: "connecting"
    case .securing: "TLS"
    case .queued, .waiting, .receiving, .finishing: rawValue
    }
  }

  /// The part of a row's height that it fills, and its least in pixels: where files are many, their rows are lower than
  /// a pixel, and would fade.
  var height: (part: Double, least: Double) {
    switch self {
    case .queued: (0.08, 0.2)
    case .lookingUp, .connecting, .securing, .finishing: (0.5, 1)
    case .waiting: (0.28, 1)
    case .receiving: (0.84, 1.4)
    }
  }
}
