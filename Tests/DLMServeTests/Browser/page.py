"""Drives the page of dlm serve in headless Chromium, as its users and as a hostile page would.

usage: page.py CONFIGURATION

CONFIGURATION is JSON: "link" (of the page), "slow" (URLs of pictures, the last of which waits for the caller), "quick" (URLs of
small files), "hostile" (the URL of a page of another site), "tools" (the folder of browser.py), "shots" (a folder for
screenshots, or nothing). Each complaint is a line on standard output; "named" and "looked" tell the caller where it is.
"""
import base64
import json
import sys
import time

configuration = json.loads(sys.argv[1])
sys.path.insert(0, configuration["tools"])
# Beside the sources a folder of bytecode would stand.
sys.dont_write_bytecode = True
from browser import CONTRASTS, OVERFLOWS, webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

# Of texts alone: those classes are drawings in a report.
TEXT_CONTRASTS = CONTRASTS.replace(".row,.bar,.spread,.area,.failed,.run", "#no-drawing")
SIZES = {"360": (360, 760), "800": (800, 900), "1280": (1280, 900)}
HOSTILE_NAME = "rebound.test"


def start():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--host-resolver-rules=MAP {HOSTILE_NAME} 127.0.0.1"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    driver.set_script_timeout(60)
    return driver


class User:
    def __init__(self, driver):
        self.driver = driver

    def say(self, text):
        print(text, flush=True)

    def expect(self, holds, what):
        if not holds:
            self.say(f"complaint: {what}")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, what, script, *arguments):
        for _ in range(600):
            found = self.run(script, *arguments)
            if found:
                return found
            time.sleep(0.1)
        self.say(f"complaint: waited a minute in vain for {what}: {self.run('return document.body.innerText')[:600]!r}")
        self.shot("failure")
        raise SystemExit(1)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, text, within="body"):
        # By the page's own script, so that a list that changes meanwhile is no matter.
        button = self.run("""return [...document.querySelectorAll(arguments[0] + " button")].find(
            (one) => one.textContent === arguments[1] && one.checkVisibility())""", within, text)
        if button is None:
            self.say(f"complaint: no button {text!r}")
        else:
            button.click()

    def quiet(self, where):
        for entry in self.driver.get_log("browser"):
            # The refused name.
            if "/api/name" not in entry["message"]:
                self.say(f"complaint: {where}, the console says {entry['message']}")

    def size(self, width, height, scheme):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def shot(self, name):
        if configuration.get("shots"):
            picture = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})["data"]
            with open(f"{configuration['shots']}/{name}.png", "wb") as file:
                file.write(base64.b64decode(picture))

    def judge(self, name):
        """Each size in light and dark: contrasts, nothing outside of the window, each control with a name."""
        for scheme in ["light", "dark"]:
            for size, extent in SIZES.items():
                self.size(*extent, scheme)
                where = f"{name}, {size}, {scheme}"
                for poor in self.run(TEXT_CONTRASTS)["poor"]:
                    self.say(f"complaint: {where}: {poor}")
                for out in self.run(OVERFLOWS):
                    self.say(f"complaint: {where}: {out}")
                self.shot(f"{name}-{size}-{scheme}")
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        for node in nodes:
            role = node.get("role", {}).get("value")
            if role in ("button", "textbox", "combobox", "progressbar", "image") and not node.get("ignored"):
                self.expect(node.get("name", {}).get("value"), f"{name}: a {role} without a name")
        self.size(1280, 900, "light")


def download(user):
    user.driver.get(configuration["link"])
    user.wait("the page", "return document.getElementById('place').textContent.startsWith('into ')")
    user.expect("#" not in user.driver.current_url, "the token stays in the address")
    user.judge("empty")
    user.find("#text").send_keys("\n".join(configuration["slow"]))
    user.find("#folder").send_keys("pictures")
    user.click("Download")
    user.wait("a running download", "return document.querySelector('.card .badge.running')")
    user.click("Details")
    count = len(configuration["slow"]) - 1
    user.wait("thumbnails", "return [...document.querySelectorAll('.pictures img')].filter((i) => i.naturalWidth > 0)"
              ".length >= arguments[0]", count)
    user.quiet("after the thumbnails")


def name_pictures(user):
    # A row that is there stays the same element while its file goes on.
    user.wait("a row", "window.row = document.querySelector('.files li'); return window.row !== null")
    time.sleep(1.5)
    user.expect(user.run("return window.row.isConnected"), "a row was replaced")
    user.click("Name pictures")
    for index in range(len(configuration["slow"]) - 1):
        user.wait("a question", "return document.getElementById('naming-title').textContent === 'Name this picture'"
                  " && document.getElementById('naming-picture').naturalWidth > 0")
        if index == 0:
            user.judge("naming")
        before = user.run("return document.getElementById('naming-label').textContent")
        field = user.find("#naming-name")
        if index == 0:
            # A name that leads out of the folder is refused, and asked about again.
            field.clear()
            field.send_keys("../escaped.png", Keys.ENTER)
            user.wait("a refusal", "return document.getElementById('naming-left').textContent.includes('name')")
        field.clear()
        field.send_keys(f"named-{index}.png", Keys.ENTER)
        user.wait("the next question",
                  "return document.getElementById('naming-label').textContent !== arguments[0]"
                  " || document.getElementById('naming-title').textContent.startsWith('Waiting')", before)
    user.wait("the end of the questions",
              "return document.getElementById('naming-title').textContent.startsWith('Waiting')")


def pause(user):
    user.click("Pause", "article")
    user.wait("a paused download", "return document.querySelector('.badge.paused')")
    user.click("Resume", "article")
    user.wait("a running download", "return document.querySelector('.badge.running')")
    user.judge("running")
    # The caller lets the last picture come.
    user.say("named")
    user.wait("the last question", "return document.getElementById('naming-title').textContent === 'Name this picture'"
              " && document.getElementById('naming-name').value !== ''")
    user.find("#naming-name").send_keys(Keys.ESCAPE)
    user.wait("the end", "return document.querySelector('.badge.done')")


def drop(user):
    urls = "".join(f"<file name=\"dropped-{index}\"><url>{url}</url></file>"
                   for index, url in enumerate(configuration["quick"][:2]))
    text = f'<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink">{urls}</metalink>'
    user.run("""const transfer = new DataTransfer();
        transfer.items.add(new File([arguments[0]], "two files.meta4"));
        document.getElementById("folder").value = "dropped";
        document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, dataTransfer: transfer }));""", text)
    user.wait("the dropped list", "return document.querySelectorAll('.badge.done').length > 1")


def race(user):
    user.run("const text = document.getElementById('text'); text.value = arguments[0]; text.oninput();",
             "\n".join(configuration["quick"]))
    user.click("Race the three modes")
    user.wait("the verdict", "return document.getElementById('race-text').textContent.includes('impression')")
    bars = user.run("return [...document.querySelectorAll('.lane svg')].map((s) => s.querySelectorAll('rect.receiving').length)")
    user.expect(bars == [len(configuration["quick"])] * 3, f"the waterfalls have {bars} bars")
    user.judge("race")
    user.quiet("after the race")


HOSTILE = """
const [server, done] = [arguments[0], arguments[arguments.length - 1]];
const attempts = {
  read: () => fetch(server + "/api/runs").then((r) => r.text()),
  guess: () => fetch(server + "/api/runs", { headers: { Authorization: "Bearer x" } }).then((r) => r.text()),
  blind: () => fetch(server + "/api/runs", { method: "POST", mode: "no-cors", body: '{"text":"https://h/x"}' })
    .then((r) => r.type === "opaque" ? Promise.reject(new Error("opaque")) : r.text()),
  name: () => fetch(server + "/api/name", { method: "POST", body: '{"run":1,"picture":"a.png","name":"b.png"}' }).then((r) => r.text()),
  call: () => fetch(server + "/jsonrpc", { method: "POST", body: '{"id":1,"method":"aria2.getVersion","params":[]}' }).then((r) => r.text()),
  page: () => fetch(server + "/").then((r) => r.text()),
  socket: () => new Promise((good, bad) => { const s = new WebSocket(server.replace("http", "ws") + "/jsonrpc"); s.onopen = () => good("open"); s.onerror = () => bad(new Error("closed")); }),
  frame: () => new Promise((good, bad) => { const f = document.createElement("iframe"); f.src = server + "/"; f.onload = () => { try { good(f.contentDocument.title); } catch { bad(new Error("closed")); } }; document.body.append(f); }),
};
const form = document.createElement("form");
Object.assign(form, { method: "post", action: server + "/api/runs", target: "sink", enctype: "text/plain" });
const sink = Object.assign(document.createElement("iframe"), { name: "sink" });
form.append(Object.assign(document.createElement("input"), { name: '{"text":"https://h/x","x":"', value: '"}' }));
document.body.append(sink, form);
form.submit();
(async () => {
  const found = {};
  for (const [name, work] of Object.entries(attempts)) {
    found[name] = await work().then((text) => `got ${String(text).slice(0, 90)}`, (error) => `refused: ${error.message}`);
  }
  done(found);
})();
"""


def attack(user):
    """From another port, and under a name that resolves to this machine."""
    server = configuration["link"].split("/#")[0]
    port = server.rsplit(":", 1)[1]
    user.driver.get(configuration["hostile"])
    for target in [server, f"http://localhost:{port}", f"http://{HOSTILE_NAME}:{port}"]:
        for name, result in user.driver.execute_async_script(HOSTILE, target).items():
            user.expect(result.startswith("refused"), f"a hostile page, {target}, {name}: {result}")
    # The site's own name with the port of the page: the same origin for the browser, another host for dlm.
    user.driver.get(f"http://{HOSTILE_NAME}:{port}/")
    text = user.run("return document.body.innerText")
    user.expect("not a name of this server" in text, f"a rebound name got {text[:80]!r}")
    body = user.driver.execute_async_script(
        "const done = arguments[0]; fetch('/api/runs', { headers: { Authorization: 'Bearer x' } })"
        ".then((r) => r.text()).then(done, (e) => done(String(e)));")
    user.expect("not a name of this server" in body, f"a rebound name read {body[:80]!r}")


def main():
    driver = start()
    try:
        user = User(driver)
        download(user)
        name_pictures(user)
        pause(user)
        drop(user)
        race(user)
        attack(user)
        user.say("looked")
    finally:
        driver.quit()


main()
