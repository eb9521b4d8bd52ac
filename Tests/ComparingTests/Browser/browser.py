"""Looks at reports' pages in headless Chromium, as their readers meet them.

usage: browser.py EXPECTATIONS [FOLDER]

EXPECTATIONS is JSON, an array with an object a page: "page" (an HTML file), "waterfalls" (how many), "first" (the first row's
address in the first of them, nothing where there is none), "files" (rows of the first). FOLDER takes screenshots. Each
complaint is a line on standard output; behind those of a page is "looked at N in PAGE".
"""
import json
import os
import pathlib
import sys
import tempfile

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
# Text with a contrast below WCAG 2.2's 4.5:1 against what is behind it, and drawings below 3:1.
CONTRASTS = r"""
const parse = (text) => {
  const numbers = (text.match(/[\d.]+/g) || []).map(Number);
  return numbers.length < 3 ? null : { rgb: numbers.slice(0, 3), alpha: numbers.length > 3 ? numbers[3] : 1 };
};
const luminance = (rgb) => rgb.map((value) => value / 255)
  .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
const contrast = (one, other) => {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
};
const ground = (element) => {
  for (let above = element; above; above = above.parentElement) {
    const color = parse(getComputedStyle(above).backgroundColor);
    if (color && color.alpha === 1) return color.rgb;
  }
  return [255, 255, 255];
};
const poor = [];
let texts = 0, drawn = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || element.closest("script,title,desc")) continue;
  const style = getComputedStyle(element);
  const color = parse(element.closest("svg") ? style.fill : style.color);
  texts += 1;
  const ratio = contrast(color.rgb, ground(element));
  if (color.alpha < 1 || ratio < 4.5)
    poor.push(`text "${walker.currentNode.data.trim().slice(0, 30)}" has a contrast of ${ratio.toFixed(2)}`);
}
for (const element of document.querySelectorAll(".row,.bar,.spread,.area,.failed,.run")) {
  const style = getComputedStyle(element);
  const color = parse(element.matches(".bar") ? style.fill : style.stroke);
  drawn += 1;
  const ratio = contrast(color.rgb, ground(element));
  if (ratio < 3) poor.push(`${element.getAttribute("class")} has a contrast of ${ratio.toFixed(2)}`);
}
return { texts, drawn, poor };
"""
# Where a text ends outside of what is shown of it, and what is wider than the window.
OVERFLOWS = r"""
const width = document.documentElement.clientWidth, out = [];
if (document.documentElement.scrollWidth > width)
  out.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${width}`);
for (const element of document.querySelectorAll("h1,h2,h3,h4,p,li,dd,dt,pre,svg text")) {
  if (element.closest(".scroll")) continue;
  const box = element.getBoundingClientRect();
  if (box.width && (box.right > width + 0.5 || box.left < -0.5))
    out.push(`"${element.textContent.slice(0, 30)}" reaches from ${box.left} to ${box.right}`);
}
for (const svg of document.querySelectorAll("svg[role=img]")) {
  const boxes = [...svg.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
  boxes.forEach(([text, one], index) => {
    for (const [after, other] of boxes.slice(index + 1)) {
      if (one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom)
        out.push(`"${text.textContent}" and "${after.textContent}" overlap`);
    }
  });
}
return out;
"""


def browser(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    # The pages are the test's own, and nobody else's: without a sandbox of the kernel's, root can run it too.
    for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND",
                     f"--user-data-dir={profile}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    driver.set_script_timeout(30)
    return driver


class Reader:
    """A reader of one page, and the complaints."""

    def __init__(self, driver, expected, folder):
        self.driver, self.expected, self.folder = driver, expected, folder
        page = pathlib.Path(expected["page"])
        self.address, self.name = page.resolve().as_uri(), page.stem
        self.complaints, self.looks = [], 0

    def complain(self, where, what):
        self.complaints.append(f"{self.name}, {where}: {what}")

    def expect(self, holds, where, what):
        self.looks += 1
        if not holds:
            self.complain(where, what)

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def media(self, scheme, kind=""):
        self.command("Emulation.setEmulatedMedia", media=kind,
                     features=[{"name": "prefers-color-scheme", "value": scheme}])

    def size(self, width, height):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=False)

    def shot(self, name):
        if self.folder:
            import base64
            picture = self.command("Page.captureScreenshot", captureBeyondViewport=True)["data"]
            with open(os.path.join(self.folder, f"{self.name}-{name}.png"), "wb") as file:
                file.write(base64.b64decode(picture))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def quiet(self, where):
        for entry in self.driver.get_log("browser"):
            self.complain(where, f"the console says {entry['message']}")

    def judge(self, where):
        found = self.run(CONTRASTS)
        self.expect(found["texts"] > 10, where, f"only {found['texts']} texts were looked at")
        if self.expected["waterfalls"]:
            self.expect(found["drawn"] > 3, where, f"only {found['drawn']} drawings were looked at")
        for poor in found["poor"]:
            self.complain(where, poor)
        for out in self.run(OVERFLOWS):
            self.complain(where, out)
        self.looks += 2

    def look_at_sizes(self):
        for scheme in ["light", "dark"]:
            for size, extent in SIZES.items():
                where = f"{scheme}, {size}"
                self.media(scheme)
                self.size(*extent)
                self.driver.get(self.address)
                self.judge(where)
                paper = self.run("return getComputedStyle(document.body).backgroundColor")
                self.expect(paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 28)"), where,
                            f"the paper is {paper}")
                self.shot(f"{scheme}-{size}")
                self.look_at_table(where)
                self.quiet(where)

    def look_at_table(self, where):
        """Its last column can be had, with the names of its rows beside it."""
        out = self.run("""const box = document.querySelector(".scroll"), at = box.getBoundingClientRect();
            box.scrollLeft = box.scrollWidth;
            const [last, first] = ["thead th:last-child", "tbody th"].map(
                (name) => box.querySelector(name).getBoundingClientRect());
            const found = [at.left, first.left, first.right, last.left, last.right, at.right].map(Math.round);
            box.scrollLeft = 0;
            return found.every((place, index) => index === 0 || place >= found[index - 1]) ? "" : found.join(" ");""")
        self.expect(out == "", where, f"the table's last column is not there: {out}")

    def look_at_structure(self, where):
        """Through the accessibility tree, which needs no script in the page."""
        nodes = self.command("Accessibility.getFullAXTree")["nodes"]
        named = [(node.get("role", {}).get("value"), node.get("name", {}).get("value", ""),
                  node.get("description", {}).get("value", "")) for node in nodes if not node.get("ignored")]
        pictures = [node for node in named if node[0] in ("image", "img")]
        falls = [node for node in pictures if "its files over time" in node[1]]
        self.expect(len(falls) == self.expected["waterfalls"], where, f"{len(falls)} waterfalls")
        self.expect(all(node[1] for node in pictures), where, "a drawing without a name")
        self.expect(sum(node[0] == "heading" for node in named) >= 3, where, "headings are missing")
        self.expect(any(node[0] == "table" for node in named), where, "the table is missing")
        self.expect(not any("alert" in node.get("role", {}).get("value", "") for node in nodes), where, "an alert")
        return named

    def look_without_script(self):
        where = "without script"
        self.command("Emulation.setScriptExecutionDisabled", value=True)
        self.driver.get(self.address)
        named = self.look_at_structure(where)
        self.expect(not any(node[0] == "slider" for node in named), where, "a slider that nothing moves")
        self.shot("no-script")
        self.command("Emulation.setScriptExecutionDisabled", value=False)

    def look_at_print(self):
        where = "print"
        # Somebody whose screen is dark prints on white paper all the same.
        self.media("dark", "print")
        self.size(720, 1000)
        self.driver.get(self.address)
        self.judge(where)
        paper = self.run("return getComputedStyle(document.body).backgroundColor")
        self.expect(paper == "rgb(255, 255, 255)", where, f"the paper is {paper}")
        cut = self.run("""return [...document.querySelectorAll(".scroll")].filter(
            (box) => box.scrollWidth > box.clientWidth + 1).length""")
        self.expect(cut == 0, where, "the table is cut off")
        self.shot("print")
        if self.folder:
            import base64
            sheet = self.command("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"]
            with open(os.path.join(self.folder, f"{self.name}.pdf"), "wb") as file:
                file.write(base64.b64decode(sheet))

    def told(self, fall=0):
        return self.driver.find_elements(By.CSS_SELECTOR, ".told")[fall].text

    def look_with_hand(self):
        if not self.expected["waterfalls"]:
            return
        self.media("light")
        self.size(*SIZES["wide"])
        self.driver.get(self.address)
        first, files = self.expected["first"], self.expected["files"]
        self.expect("arrow keys" in self.told(), "at first", f"it says {self.told()!r}")
        hands = self.driver.find_elements(By.CSS_SELECTOR, ".hand")
        self.expect(len(hands) == self.expected["waterfalls"], "at first", f"{len(hands)} waterfalls can be asked")
        # Hovering over the first row.
        box = hands[0].rect
        row = box["height"] / files
        self.run("arguments[0].scrollIntoView({ block: 'center' })", hands[0])
        ActionChains(self.driver).move_to_element_with_offset(
            hands[0], 0, round(row / 2 - box["height"] / 2)).perform()
        said = self.told()
        self.expect(files > 300 or said.startswith(first), "hovering", f"it says {said!r}, not {first!r}")
        self.expect("ms" in said and f" of {files}: " in said, "hovering", f"it says {said!r}")
        self.shot("hover")
        # By keyboard: one stop a waterfall, behind the switch of their axes.
        self.driver.get(self.address)
        before = 1 if len(hands) > 1 else 0
        focused = "return document.activeElement.getAttribute('role')"
        stops = []
        for _ in range(before + len(hands) + 1):
            ActionChains(self.driver).send_keys(Keys.TAB).perform()
            stops.append(self.run(focused))
        self.expect(stops[before:] == ["slider"] * len(hands) + ["region"], "keyboard", f"Tab stops at {stops}")
        self.driver.get(self.address)
        ActionChains(self.driver).send_keys(*[Keys.TAB] * (before + 1)).perform()
        said = self.told()
        self.expect(said.startswith(first) and f"1 of {files}: " in said, "keyboard", f"it says {said!r}")
        self.expect(self.run("return document.querySelector('.told').getAttribute('aria-live')") == "polite",
                    "keyboard", "what is said is not read out")
        ActionChains(self.driver).send_keys(Keys.END).perform()
        self.expect(f"{files} of {files}: " in self.told(), "End", f"it says {self.told()!r}")
        value = self.run("return document.activeElement.getAttribute('aria-valuenow')")
        self.expect(value == str(files), "End", f"the value is {value}")
        ActionChains(self.driver).send_keys(Keys.HOME, Keys.ARROW_DOWN).perform()
        self.expect(f"{min(2, files)} of {files}: " in self.told(), "Down", f"it says {self.told()!r}")
        ActionChains(self.driver).send_keys(Keys.ARROW_UP).perform()
        self.expect(f"1 of {files}: " in self.told(), "Up", f"it says {self.told()!r}")
        self.look_at_structure("with script")
        self.shot("focus")
        ActionChains(self.driver).send_keys(Keys.ESCAPE).perform()
        self.expect("arrow keys" in self.told(), "Escape", f"it says {self.told()!r}")
        self.quiet("by hand")

    def look_at_stretched(self):
        """Every mode on a time axis of its own, by the keyboard; and back."""
        if self.expected["waterfalls"] < 2:
            return
        where = "stretched"
        self.driver.get(self.address)
        # Where the drawings' last mark is, as a part of the width, and what the axes say.
        reach = """return [...document.querySelectorAll(".fall")].map((fall) => {
            const box = fall.querySelector("svg").getBoundingClientRect();
            return Math.max(...[...fall.querySelectorAll("svg svg path")].map(
                (path) => (path.getBoundingClientRect().right - box.left) / box.width)); })"""
        labels = """return [...document.querySelectorAll(".mode .axis")].filter(
            (axis) => getComputedStyle(axis).display !== "none").map((axis) => [axis.childElementCount, axis.textContent])"""
        shared, words = self.run(reach), self.run(labels)
        caption = self.run("return document.getElementById('axis').textContent")
        ActionChains(self.driver).send_keys(Keys.TAB, Keys.SPACE).perform()
        for mode, part in enumerate(self.run(reach)):
            self.expect(0.95 < part < 1.02, where, f"mode {mode} reaches to {part:.3f}, before {shared[mode]:.3f}")
        self.expect(self.run("return document.getElementById('axis').textContent") != caption, where, "it is not said")
        self.expect(self.run(labels) != words, where, "the axes say the same")
        self.judge(where)
        self.shot("stretched")
        ActionChains(self.driver).send_keys(Keys.SPACE).perform()
        self.expect(self.run(reach) == shared and self.run(labels) == words, where,
                    f"it does not come back: {self.run(labels)}, not {words}")
        self.quiet(where)

    def look(self):
        try:
            self.look_at_sizes()
            self.look_at_print()
            self.look_with_hand()
            self.look_at_stretched()
            self.look_without_script()
        except Exception as failure:  # What was complained about until then says why.
            self.quiet("until it failed")
            self.complain("looking", f"{type(failure).__name__}: {failure}".splitlines()[0])


if __name__ == "__main__":
    # One browser for all pages: to begin one takes longer than to look at a page.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        driver = browser(profile)
        try:
            for expected in json.loads(sys.argv[1]):
                reader = Reader(driver, expected, sys.argv[2] if len(sys.argv) > 2 else None)
                reader.look()
                print(*reader.complaints, f"looked at {reader.looks} in {reader.name}", sep="\n")
        finally:
            driver.quit()
