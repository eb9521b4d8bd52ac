enum PageFrame {
  static let style = """
    :root{color-scheme:light;\(PagePalette.variables(PagePalette.light))}
    @media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;\(PagePalette.variables(PagePalette.dark))}}
    *{box-sizing:border-box}
    body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",\
    Roboto,"DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}
    main{max-width:1180px;margin:0 auto;padding:56px 24px 72px}
    h1{font-size:clamp(1.5rem,1.1rem + 1.7vw,2.2rem);line-height:1.22;font-weight:650;letter-spacing:-.015em;\
    margin:.15em 0 .5em;max-width:30em;text-wrap:balance;overflow-wrap:anywhere}
    h2{font-size:1.15rem;font-weight:650;margin:0 0 .2em}
    h3{font-size:.95rem;font-weight:600;margin:0 0 .6em;display:flex;justify-content:space-between;gap:1em}
    h3 span{font-weight:400;color:var(--soft)}
    h4{font-size:.8rem;font-weight:400;color:var(--soft);margin:1.4em 0 -1.35em}
    p{margin:0}
    .kind,.scope,.caption,.about p{color:var(--soft);font-size:.875rem}
    .scope{overflow-wrap:anywhere}
    .caption{margin-bottom:1.3em;max-width:46em}
    main>section{margin-top:56px}
    figure{margin:0}
    svg{display:block;overflow:visible}
    svg svg{overflow:hidden}
    .legend{list-style:none;display:flex;flex-wrap:wrap;gap:.35em 1.4em;margin:0 0 1.8em;padding:0;\
    font-size:.875rem;color:var(--soft)}
    .legend li{display:flex;align-items:center;gap:.5em}
    .own{display:inline-flex;align-items:center;gap:.5em;margin:-.6em 0 1.2em;font-size:.875rem;color:var(--soft);\
    cursor:pointer}
    .own input{accent-color:var(--accent);margin:0;width:1.05em;height:1.05em}
    .runs{display:grid;gap:48px 32px;align-items:start}
    .runs.many{grid-template-columns:repeat(auto-fit,minmax(min(320px,100%),1fr))}
    .mode{min-width:0;display:grid;grid-template-columns:fit-content(40%) minmax(0,1fr);align-items:start}
    .mode>*{grid-column:2;min-width:0}.mode>h3,.mode>.told{grid-column:1/-1}
    .mode>.names{grid-column:1;grid-row:2;list-style:none;margin:0;padding:0 .8em 0 0;font-size:11px;color:var(--soft)}
    .names li{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
    .fall{position:relative}
    .hand{position:absolute;top:0;left:0;right:0;cursor:crosshair;touch-action:pan-y}
    .hand:focus-visible,.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:2px}
    .mark{position:absolute;left:-5px;right:-5px;min-height:3px;border:1px solid var(--ink);border-radius:2px;\
    pointer-events:none}
    .told{font-size:.8125rem;line-height:1.45;color:var(--soft);overflow-wrap:anywhere}
    .told.on{min-height:5.8em;margin-top:.5em}
    .told b{font-weight:600;color:var(--ink)}
    .scroll{overflow-x:auto;margin-top:.7em;\
    background:linear-gradient(to left,var(--paper) 40%,transparent) right/36px 100% no-repeat local,\
    linear-gradient(to left,var(--line),transparent) right/18px 100% no-repeat scroll}
    table{border-collapse:collapse;font-size:.9rem;min-width:min(100%,34rem)}
    th,td{padding:.42em 0 .42em 2.2em;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
    th{font-weight:600}
    tbody th{font-weight:400;text-align:left;padding-left:0;color:var(--soft);white-space:normal;min-width:5.5rem}
    tbody th,thead td{position:sticky;left:0;background:var(--paper)}
    .notes ul{margin:.5em 0 0;padding:0;list-style:none}
    .notes li{border-left:3px solid var(--accent);padding:.1em 0 .1em .9em;margin:.6em 0;overflow-wrap:anywhere;\
    max-width:46em}
    pre{background:var(--shade);border-radius:6px;padding:.8em 1em;margin:.7em 0 1.2em;white-space:pre-wrap;\
    overflow-wrap:anywhere;font:.85rem/1.5 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
    dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(230px,100%),1fr));gap:.8em 2em;margin:0 0 1.5em}
    dt{font-size:.8125rem;color:var(--soft)}
    dd{margin:0;overflow-wrap:anywhere}
    .about p+p{margin-top:.35em}
    .about p{max-width:46em}
    @media (max-width:600px){main{padding:32px 16px 48px}main>section{margin-top:44px}\
    table{min-width:100%;font-size:.8rem}th,td{padding-left:.8em}}
    @media print{@page{margin:14mm}\
    body{font-size:10pt;line-height:1.45;print-color-adjust:exact;-webkit-print-color-adjust:exact}\
    main{max-width:none;padding:0}main svg text{font-size:9px}.hand,.told,.own{display:none}\
    figure,.fall,.mode>svg,.legend,table,tr,dl,pre,.notes li,header{break-inside:avoid}\
    h2,h3,h4,.caption,.legend{break-after:avoid}.legend{gap:.3em 1em;font-size:8.5pt;margin-bottom:1.2em}\
    main>section{margin-top:22px}.runs{gap:24px 18px}.scroll{overflow:visible;background:none}\
    .runs.many{grid-template-columns:repeat(auto-fit,minmax(300px,1fr))}\
    table{font-size:8.5pt;min-width:0}th,td{padding-top:.3em;padding-bottom:.3em;padding-left:1em;white-space:normal}}

    """

  /// Shows the file of a row under the pointer or chosen by the arrow keys, and marks the same file in the other modes.
  static let script = """
    (() => {
      const data = JSON.parse(document.getElementById("rows").textContent);
      const falls = [...document.querySelectorAll(".fall")].map((fall) => {
        const run = data.runs[fall.dataset.run];
        const rows = run ? run.split(";").map((row) => row.split(" ")) : [];
        const hand = document.createElement("div"), mark = document.createElement("div");
        const told = fall.parentElement.querySelector(".told");
        hand.className = "hand"; hand.style.height = fall.dataset.rows + "px";
        hand.tabIndex = 0;
        const tell = {
          role: "slider", "aria-orientation": "vertical", "aria-valuemin": 1, "aria-valuemax": rows.length,
          "aria-valuenow": 1, "aria-valuetext": "no file chosen",
          "aria-label": "Files of " + fall.dataset.name + ", in the order in which they began" };
        for (const name in tell) hand.setAttribute(name, tell[name]);
        mark.className = "mark"; mark.hidden = true;
        hand.append(mark); fall.append(hand);
        told.classList.add("on");
        return { rows, hand, mark, told, at: -1, places: new Map(rows.map((row, at) => [row[0], at])) };
      });
      const time = (text) => {
        const value = +text;
        return (value < 100 ? value : Math.round(value)).toLocaleString("en-US") + " ms";
      };
      const hint = () => {
        for (const fall of falls) {
          fall.mark.hidden = true; fall.at = -1;
          fall.told.textContent = "Point at a row, or use the arrow keys, to see its file and times.";
        }
      };
      const show = (fall, at) => {
        fall.at = at;
        const row = fall.rows[at];
        const failed = row[row.length - 1] === "x";
        const phases = data.phases.map((name, index) => [name, row[index + 1]])
          .filter(([, value]) => value && value !== "x").map(([name, value]) => name + "\\u00a0" + time(value));
        if (failed) phases.push("failed");
        const name = document.createElement("b");
        name.textContent = data.prefix + data.names[row[0]];
        fall.told.replaceChildren(name, document.createElement("br"),
          (at + 1) + " of " + fall.rows.length + ": " + phases.join(", "));
        const share = 100 / fall.rows.length;
        fall.mark.style.top = at * share + "%"; fall.mark.style.height = share + "%";
        fall.mark.hidden = false;
        fall.hand.setAttribute("aria-valuenow", at + 1);
        fall.hand.setAttribute("aria-valuetext", "file " + (at + 1) + " of " + fall.rows.length);
      };
      const choose = (fall, at) => {
        if (!fall.rows.length) return;
        at = Math.max(0, Math.min(fall.rows.length - 1, at));
        if (at === fall.at) return;
        const key = fall.rows[at][0];
        for (const other of falls) {
          // Only the one that is looked at is read out.
          other.told.setAttribute("aria-live", other === fall ? "polite" : "off");
          if (other === fall) show(fall, at);
          else if (other.places.has(key)) show(other, other.places.get(key));
          else other.mark.hidden = true;
        }
      };
      for (const fall of falls) {
        const { hand, rows } = fall;
        const page = Math.max(1, Math.round(rows.length / 10));
        const point = (event) => {
          const box = hand.getBoundingClientRect();
          choose(fall, Math.floor((event.clientY - box.top) / box.height * rows.length));
        };
        hand.addEventListener("pointermove", point);
        hand.addEventListener("pointerdown", point);
        hand.addEventListener("focus", () => {
          if (hand.matches(":focus-visible")) choose(fall, Math.max(0, fall.at));
        });
        hand.addEventListener("keydown", (event) => {
          const to = { ArrowDown: fall.at + 1, ArrowRight: fall.at + 1, ArrowUp: fall.at - 1, ArrowLeft: fall.at - 1,
            PageDown: fall.at + page, PageUp: fall.at - page, Home: 0, End: rows.length - 1 }[event.key];
          if (event.key === "Escape") hint();
          if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
          event.preventDefault();
          choose(fall, to);
        });
      }
      hint();

      const axis = document.getElementById("axis"), shared = axis.textContent;
      if (falls.length > 1) {
        const label = document.createElement("label"), box = document.createElement("input");
        label.className = "own"; box.type = "checkbox";
        label.append(box, "Stretch each mode to the whole width");
        axis.after(label);
        box.addEventListener("change", () => {
          document.body.classList.toggle("stretched", box.checked);
          document.querySelectorAll(".mode").forEach((mode, index) => {
            for (const shapes of mode.querySelectorAll("svg svg"))
              shapes.viewBox.baseVal.width = box.checked ? data.widths[index] : \(TimeAxis.units);
          });
          axis.textContent = box.checked
            ? "Each mode has its own time axis now: lengths in two modes are not the same time." : shared;
        });
      }
    })();
    """
}

extension FilePhase {
  /// Its class in the style sheet.
  var style: String { "p-\(rawValue)" }

  package var name: String {
    switch self {
    case .lookingUp: "looking up"
    case .connecting: "connecting"
    case .securing: "TLS"
    case .queued, .waiting, .receiving, .finishing: rawValue
    }
  }

  /// The fraction of a row's height that it fills, and its minimum in pixels: with many files, rows are lower than a
  /// pixel and would fade.
  var height: (part: Double, least: Double) {
    switch self {
    case .queued: (0.08, 0.2)
    case .lookingUp, .connecting, .securing, .finishing: (0.5, 1)
    case .waiting: (0.28, 1)
    case .receiving: (0.84, 1.4)
    }
  }
}
