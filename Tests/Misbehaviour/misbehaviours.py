"""The rows: what the origin does, what must come of it, and which bytes no tool can do without."""

import collections
import dataclasses
import gzip
import hashlib
import random
import time
import urllib.request
from typing import Callable, Optional

from origin import make_file
from tools import PASSWORD, USER

MIB = 1024 * 1024
SIZE = 2 * MIB
HALF = SIZE // 2
GOOD = make_file("good", SIZE)
CHANGED = make_file("good", SIZE, version=2)  # of the same length, so that no length tells it apart
SHRUNK = make_file("good", SIZE // 4, version=2)
BIG = make_file("big", 8 * MIB)
BIG_CHANGED = make_file("big", 8 * MIB, version=2)
BIG_WEAK = dataclasses.replace(BIG, etag=f"W/{BIG.etag}")
MANY = {f"{number:02}.bin": make_file(f"many-{number}", 256 * 1024) for number in range(12)}
SMALL = {f"{number:02}.bin": make_file(f"small-{number}", 16 * 1024) for number in range(24)}
TWINS = {"a/file.bin": make_file("twin-a", SIZE), "b/file.bin": make_file("twin-b", SIZE)}
# Much less than the MiB that each cut is worth, and more than what a socket's buffers swallow when a tool looks at a
# head and closes: the origin counts that as sent.
TOLERANCE = 512 * 1024
USERS_OWN = b"A year of my own work.\n" * 10_000  # shorter than the file, so that resume would go on with it


@dataclasses.dataclass(frozen=True)
class Row:
    title: str
    answer: Callable
    right: tuple = (GOOD.data,)        # contents that must stand in the folder; () where there is no right file
    paths: tuple = ("file.bin",)
    way: str = "resume"
    before: dict = dataclasses.field(default_factory=dict)  # files of the user that are there already
    needed: Optional[int] = SIZE       # body bytes that a good tool fetches; None: not judged
    tolerance: int = TOLERANCE
    twice: bool = False                # repeat the command although it succeeded
    kill_at_half: bool = False
    limits: dict = dataclasses.field(default_factory=dict)  # the connections that the origin takes
    host: str = ""                     # of the addresses, where the origin is only the proxy to it
    counts_logins: bool = False        # the cell says how many requests of the first run carried one


# A good server, in whole and in parts

def serve(x, file=GOOD, ranges=True, if_range=True, chunked=False, cut=None, **options):
    """Answers as RFC 9110 wants. `cut` ends a whole body after so many bytes; the caller says how it ends."""
    start = x.range_start if ranges else None
    # A weak tag is no match for If-Range (RFC 9110 §13.1.5).
    strong = (file.modified,) if file.etag.startswith("W/") else (file.etag, file.modified)
    if if_range and x.headers.get("if-range", file.modified) not in strong:
        start = None
    if is_unchanged(x, file):
        return x.head(304, f"ETag: {file.etag}")
    if start is not None and start >= len(file.data):
        return x.head(416, f"Content-Range: bytes */{len(file.data)}", "Content-Length: 0")
    end = len(file.data) if start is None else x.range_end(len(file.data))
    send(x, file, start, end, chunked, cut, ranges, **options)


def is_unchanged(x, file):
    if "if-none-match" in x.headers:
        return file.etag in x.headers["if-none-match"]
    return x.headers.get("if-modified-since") == file.modified


def send(x, file, start, end, chunked=False, cut=None, ranges=True, content_range=True, pause=0.0,
         hold_at=None):
    """A 200, or a 206 from `start`. Without `content_range` it hides which part it is."""
    lines = [f"ETag: {file.etag}", f"Last-Modified: {file.modified}", "Content-Type: application/octet-stream"]
    if ranges:
        lines.append("Accept-Ranges: bytes")
    if start is not None and content_range:
        lines.append(f"Content-Range: bytes {start}-{end - 1}/{len(file.data)}")
    body = file.data[start or 0:end]
    lines.append("Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}")
    x.head(200 if start is None else 206, *lines)
    x.body(body[:cut], chunked, pause, hold_at)
    if chunked and cut is None and x.method == "GET":
        x.raw(b"0\r\n\r\n")


# Bodies that end too early

def cut_once(x):
    if x.attempt > 1:
        return serve(x)
    serve(x, cut=HALF)
    x.close()


def reset_once(x):
    if x.attempt > 1:
        return serve(x)
    serve(x, cut=HALF)
    x.reset()


def cut_chunked_once(x):
    if x.attempt > 1:
        return serve(x, chunked=True)
    serve(x, chunked=True, cut=HALF)
    x.close()


def only_the_end_is_missing(x):
    """Every byte came, but not the last chunk: the client has to ask for what follows the last byte."""
    if x.attempt > 1:
        return serve(x)
    serve(x, chunked=True, cut=SIZE)
    x.close()


def cut_once_without_ranges(x):
    serve(x, ranges=False, cut=HALF if x.attempt == 1 else None)
    if x.attempt == 1:
        x.close()


def always_cut_without_ranges(x):
    serve(x, ranges=False, cut=HALF)
    x.close()


def stall_once(x):
    if x.attempt > 1:
        return serve(x)
    serve(x, cut=HALF)
    x.hold()


def half_slowly_then_hold(x, file=BIG, later=None):
    """Half of the file at 512 KiB/s, slow enough for records kept every second; then the tool is killed.

    Half of it over all connections together, because a tool may fetch a slow file in pieces.
    """
    if x.scene.runs > 1:
        return serve(x, later or file)
    serve(x, file, pause=1 / 8, hold_at=len(file.data) // 2)


# Lies and changes at the resume

def killed_and_changed(x):
    half_slowly_then_hold(x, later=BIG_CHANGED)


def killed_and_weak(x):
    half_slowly_then_hold(x, file=BIG_WEAK)


def changed_meanwhile(x, if_range=True):
    if x.attempt > 1:
        return serve(x, CHANGED, if_range=if_range)
    serve(x, cut=HALF)
    x.close()


def changed_and_if_range_ignored(x):
    changed_meanwhile(x, if_range=False)


def shrunk_meanwhile(x):
    """The old file was cut at its half; the new one is shorter than that half: 416, with the new length."""
    if x.attempt > 1:
        return serve(x, SHRUNK, if_range=False)
    serve(x, cut=HALF)
    x.close()


def other_offset(x):
    """A 206 that says honestly that it starts 4 KiB later than was asked for."""
    if x.range_start and x.range_start < SIZE - 4096:
        return send(x, GOOD, x.range_start + 4096, SIZE)
    cut_once(x)


def no_content_range(x):
    if x.range_start:
        return send(x, GOOD, x.range_start, SIZE, content_range=False)
    cut_once(x)


def other_length(x):
    """A 206 from the right place, of a file that is said to be longer than it was."""
    if x.range_start:
        grown = dataclasses.replace(GOOD, data=GOOD.data + GOOD.data[:4096])
        return send(x, grown, x.range_start, SIZE)
    cut_once(x)


def half_unasked(x):
    """A 206 of the first half for whoever asked for the whole, as caches with a partial entry have sent."""
    if x.range_start is None and x.attempt == 1:
        return send(x, GOOD, 0, HALF)
    serve(x)


def two_lengths(x, lengths=(HALF, SIZE)):
    """RFC 9112 forbids to believe either."""
    x.head(200, *(f"Content-Length: {length}" for length in lengths))
    x.body(GOOD.data)
    x.close()


def two_lengths_reversed(x):
    two_lengths(x, (SIZE, HALF))


# Servers that want to be left alone

def busy_twice(x, status):
    if x.attempt > 2:
        return serve(x)
    x.short(status, "Retry-After: 1")


def unavailable_twice(x):
    busy_twice(x, 503)


def too_many_twice(x):
    busy_twice(x, 429)


def two_at_a_time(x):
    """503 for whoever is third, as nginx's limit_conn answers."""
    with x.scene.lock:
        x.scene.active += 1
        crowded = x.scene.active > 2
    try:
        if crowded:
            return x.short(503)
        serve(x, MANY[x.path], pause=0.02)
    finally:
        with x.scene.lock:
            x.scene.active -= 1


def small(x):
    """A tenth of a second, so that the requests of a tool that asks for many files at once are there together."""
    time.sleep(0.1)
    serve(x, SMALL[x.path])


# Names

def not_found(x):
    x.short(404, body=b"<html>not here</html>" * 100)


def redirect(x):
    if x.path == "other-name.bin":
        return serve(x)
    x.short(302, "Location: /other-name.bin")


def traversal(x):
    x.head(200, f"Content-Length: {SIZE}", 'Content-Disposition: attachment; filename="../../evil"')
    x.body(GOOD.data)


def twins(x):
    serve(x, TWINS[x.path])


# Codings

def gzip_unasked(x):
    """As servers answer that compress whatever they are asked for, and as those that keep files compressed."""
    body = gzip.compress(GOOD.data, mtime=0)
    x.head(200, "Content-Encoding: gzip", f"Content-Length: {len(body)}", 'ETag: "coded"',
           f"Last-Modified: {GOOD.modified}", "Content-Type: application/octet-stream")
    x.body(body)


# Cookies and logins

def cookie_first(x):
    """A page that sets a cookie and leads to the file, which nobody gets without it."""
    if x.path != "other-name.bin":
        return x.short(302, "Location: /other-name.bin", "Set-Cookie: pass=good; Path=/")
    if "pass=good" not in x.headers.get("cookie", "").rstrip("; ").split("; "):  # aria2 ends it with a semicolon
        return x.short(403)
    serve(x)


def digest_login(x):
    """Digest with MD5 and qop=auth (RFC 7616 §3): a nonce for each challenge, each count of it good for once."""
    given = digest_fields(x)
    is_right = given["response"] == digest_response(x, given)
    with x.scene.lock:
        issued = {f"nonce-{number}" for number in range(1, x.scene.challenges + 1)}
        use = (given["nonce"], given["nc"])
        is_fresh = given["nonce"] in issued and use not in x.scene.taken
        if is_right and is_fresh:
            x.scene.taken.add(use)
        else:
            x.scene.challenges += 1
            nonce = f"nonce-{x.scene.challenges}"
    if is_right and is_fresh:
        return serve(x)
    stale = ", stale=true" if is_right else ""
    x.short(401, f'WWW-Authenticate: Digest realm="files", qop="auth", algorithm=MD5, nonce="{nonce}", '
                 f'opaque="seal"{stale}')


def digest_fields(x):
    scheme, _, fields = x.headers.get("authorization", "").partition(" ")
    listed = urllib.request.parse_http_list(fields) if scheme.lower() == "digest" else []
    return collections.defaultdict(str, urllib.request.parse_keqv_list(listed))


def digest_response(x, given):
    """The one right response; None where another field says that it was made for something else."""
    expected = {"username": USER, "realm": "files", "uri": f"/{x.path}", "qop": "auth", "opaque": "seal"}
    if any(given[key] != value for key, value in expected.items()) or given["algorithm"] not in ("", "MD5"):
        return None
    return md5(md5(USER, "files", PASSWORD), given["nonce"], given["nc"], given["cnonce"], "auth",
               md5(x.method, given["uri"]))


def md5(*parts):
    return hashlib.md5(":".join(parts).encode()).hexdigest()


def tunnel_refused(x):
    """As a proxy answers whoever has the wrong login."""
    x.short(407, 'Proxy-Authenticate: Basic realm="proxy"')


# What is no HTTP, or too much of it

def garbage(x):
    x.raw(b"\x00\x01\xfe" + random.Random("garbage").randbytes(4096))
    x.close()


def header_flood(x):
    x.raw(b"HTTP/1.1 200 OK\r\n")
    line = b"x" * 1000 + b"\r\n"
    for number in range(10_000):
        x.raw(b"X-Flood-%d: " % number + line)
    x.raw(b"Content-Length: %d\r\n\r\n" % SIZE)
    x.body(GOOD.data)


ROWS = [
    Row("connection closed in the middle of a body", cut_once),
    Row("connection reset (RST) in the middle of a body", reset_once),
    Row("chunked body without its last half and last chunk", cut_chunked_once),
    Row("chunked body whole, but its last chunk missing", only_the_end_is_missing),
    Row("body cut, then no ranges: 200 from the start", cut_once_without_ranges, needed=HALF + SIZE),
    Row("body shorter than its Content-Length, every time", always_cut_without_ranges, needed=None),
    Row("server stalls for ever in the middle", stall_once),
    Row("tool killed (SIGKILL) at half of 8 MiB, run again", half_slowly_then_hold, right=(BIG.data,),
        needed=len(BIG.data), tolerance=MIB + TOLERANCE, kill_at_half=True, twice=True),
    Row("the same, and the server has only weak validators", killed_and_weak, right=(BIG.data,),
        needed=len(BIG.data), tolerance=MIB + TOLERANCE, kill_at_half=True, twice=True),
    Row("tool killed at half, file changed, run again", killed_and_changed, right=(BIG_CHANGED.data,),
        needed=None, kill_at_half=True, twice=True),
    Row("file changed between cut and resume", changed_meanwhile, right=(CHANGED.data,), needed=None),
    Row("the same, and the server ignores If-Range", changed_and_if_range_ignored, right=(CHANGED.data,), needed=None),
    Row("file is shorter than its cut old version: 416", shrunk_meanwhile, right=(SHRUNK.data,), needed=None),
    Row("206 starts at another offset than asked for", other_offset, needed=None),
    Row("206 without Content-Range", no_content_range, needed=None),
    Row("206 of a file of another length", other_length, needed=None),
    Row("206 with the first half, unasked", half_unasked, needed=None),
    Row("two Content-Lengths, half and whole", two_lengths, needed=None),
    Row("two Content-Lengths, whole and half", two_lengths_reversed, needed=None),
    Row("503 with Retry-After twice", unavailable_twice),
    Row("429 with Retry-After twice", too_many_twice),
    Row("12 files at once, 503 beyond two connections", two_at_a_time, right=tuple(f.data for f in MANY.values()),
        paths=tuple(MANY), way="list", needed=sum(len(f.data) for f in MANY.values())),
    Row("24 files at once, connections beyond four are closed", small, right=tuple(f.data for f in SMALL.values()),
        paths=tuple(SMALL), way="list", needed=sum(len(f.data) for f in SMALL.values()), limits={"places": 4}),
    Row("24 files at once, three workers, each bound to its connection", small,
        right=tuple(f.data for f in SMALL.values()), paths=tuple(SMALL), way="list",
        needed=sum(len(f.data) for f in SMALL.values()), limits={"workers": 3, "keep_alive": 20}),
    Row("404 with a page", not_found, right=(), needed=None),
    Row("redirect to another file name", redirect),
    Row("Content-Disposition: ../../evil", traversal, way="suggested"),
    Row("two URLs with one file name, resume on", twins, right=tuple(f.data for f in TWINS.values()),
        paths=tuple(TWINS), way="list", needed=2 * SIZE),
    Row("two URLs with one file name, names protected", twins, right=tuple(f.data for f in TWINS.values()),
        paths=tuple(TWINS), way="keep", needed=2 * SIZE),
    Row("the user's own file has the name, resume on", serve, before={"file.bin": USERS_OWN}),
    Row("the user's own file has the name, names protected", serve, way="keep", before={"file.bin": USERS_OWN}),
    Row("the user's own files have the partial file's names; killed, run again", half_slowly_then_hold,
        right=(BIG.data,), needed=len(BIG.data), tolerance=MIB + TOLERANCE, kill_at_half=True, twice=True,
        before={f"file.bin{suffix}": USERS_OWN for suffix in (".part", ".part.json", ".aria2")}),
    Row("a whole copy is there, not by this tool", serve, before={"file.bin": GOOD.data}, needed=0),
    Row("the same command again, nothing changed", serve, twice=True),
    Row("gzip that nobody asked for", gzip_unasked),
    Row("the same, asked for with the tool's option", gzip_unasked, way="decode"),
    Row("page that sets a cookie, redirect to a file that wants it", cookie_first, way="cookie"),
    Row("Digest login", digest_login, way="login"),
    Row("proxy that refuses the login for the tunnel: 407", tunnel_refused, right=(), way="proxy", needed=None,
        host="https://files.example", counts_logins=True),
    Row("garbage instead of HTTP", garbage, right=(), needed=None),
    Row("10 MB of header lines", header_flood, needed=None),
]
