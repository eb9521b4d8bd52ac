"""The workloads: what is fetched from where, by which commands, and what dlm shall reach."""

import dataclasses
from typing import Callable

from calls import CURLS, Call, aria2c, axel, cached, copy, curl, curl_parallel, curls, dlm, drawing, floor, wget2
from targets import FIXED, FLOOR, Target, memory

KIB, MIB = 1024, 1024 * 1024


@dataclasses.dataclass(frozen=True)
class Sizes:
    small: int = 10_000
    many: int = 200_000
    million: int = 1_000_000
    medium: int = 2_000
    large: int = 512 * MIB
    distant: tuple = (64 * MIB, 16 * MIB, 8 * MIB)
    few_workers: int = 3
    distant_small: int = 500
    slow: int = 5_000
    names: int = 50
    repetitions: int = 25


QUICK = Sizes(small=200, many=2_000, million=5_000, medium=20, large=8 * MIB, distant=(16 * MIB, 8 * MIB, 4 * MIB),
              distant_small=50, slow=100, names=5, repetitions=3)


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    title: str
    calls: Callable               # the calls, given the site and the sizes; makes the files first
    targets: tuple
    repetitions: int = 1  # in each round, for commands that take milliseconds


def all_workloads(sizes):
    small, large, at_once = f"{sizes.small:,} files of 4 KiB", f"{sizes.large // MIB} MiB", "64 at a time"
    return [
        Workload("small", f"{small}, {at_once}", small_files,
                 (Target("wall", 0.75), Target("cpu", 1.00, "curl -Z"), memory(34),
                  Target("wall", 1.02, "dlm", of=DRAWING))),
        Workload("one-name", f"{sizes.small:,} addresses of 4 KiB that give {sizes.names} names (`download-7?id=3`), "
                 "64 at a time; dlm numbers the names, curl is told one for each", one_name,
                 (Target("wall", 0.80, "curl -Z"), Target("cpu", 1.05, "curl -Z"))),
        Workload("one-loop", f"{small}, {at_once}, dlm with one network thread", one_loop,
                 (Target("wall", 1.00, "curl -Z"), Target("cpu", 1.00, "curl -Z"), Target("cpu", None, FLOOR))),
        Workload("caching", f"{small}, {at_once}, with the cache and without", caching, (
            Target("wall", 1.10, NO_CACHE, of=FIRST), Target("cpu", 1.15, "curl -Z", of=FIRST), Target("wall", 1.00, NO_CACHE, of=AGAIN),
            Target("cpu", 1.00, NO_CACHE, of=AGAIN), Target("wall", 1.30, NO_CACHE, of=COPIED),
            Target("wall", 0.30, NO_CACHE, of=FRESH), Target("cpu", 0.20, FIRST, of=FRESH),
            Target("wall", 20, "cp -r", FRESH_COPIED, " µs a file", sizes.small / 1_000_000))),
        Workload("many", f"{sizes.many:,} files of 4 KiB, {at_once}", many,
                 (Target("wall", 0.65, "curl -Z"), Target("cpu", 0.95, "curl -Z"), memory(40))),
        Workload("million", f"{sizes.million:,} files of 40 bytes, {at_once}", million,
                 (memory(8, million_name(sizes.million), million_name(sizes.small)),)),
        Workload("tls", f"{small}, {at_once}, HTTP/1.1 over TLS", tls,
                 (Target("wall", 0.85), Target("wall", 0.80, "wget2"), Target("cpu", 0.95, "wget2"))),
        Workload("http2", f"{small}, 64 at a time, over TLS from a server that offers HTTP/2; dlm uses "
                 "HTTP/1.1 unless told otherwise, aria2c knows nothing else", http2,
                 (Target("wall", 1.00, of="dlm --http2"),)),
        Workload("medium", f"{sizes.medium:,} files of 256 KiB, {at_once}", medium_files, (Target("wall", 0.80),)),
        Workload("large", f"4 files of {large}", large_files, (Target("wall", 0.95), Target("cpu", 1.00))),
        Workload("one-large", f"one file of {large}", one_large, (Target("wall", None),)),
        Workload("one-large-tls", f"one file of {large}, HTTP/1.1 over TLS", one_large_tls,
                 (Target("wall", 0.88, "curl"),)),
        *(Workload(f"distant-{name}", f"one file of {size // MIB} MiB, 50 ms to the first byte, 4 MB/s a connection",
                   one_distant(size), (Target("wall", at_most, "aria2c"),))
          for name, size, at_most in zip(("large", "medium", "modest"), sizes.distant, (0.95, 1.00, 1.00))),
        Workload("distant-fat", f"one file of {large}, 100 ms away, 73 MiB/s a connection", distant_fat,
                 (Target("wall", 1.00), Target("worst", 1.10))),
        Workload("distant-small", f"{sizes.distant_small:,} files of 4 KiB, 50 ms to the first byte", distant_small,
                 (Target("wall", 1.00, "curl -Z"), Target("wall", 0.85, "curl -Z", of="dlm -j 64"))),
        Workload("few-workers", f"{len(PAGE)} files as of a page, from an Apache with {sizes.few_workers} workers that "
                 "each wait 5 s for a connection's next request; each tool with its defaults", few_workers,
                 (Target("wall", 1.60),)),
        *(Workload(f"auto-{name}", title, calls, (Target("wall", 1.05, FIXED, of=AUTO),))
          for name, title, calls in auto_lists(sizes)),
        Workload("slow-many", f"{sizes.slow:,} files of 64 KiB at 16 KiB/s each, all at once; a curl -Z allows 300 at "
                 "most, so that several run", slow_many,
                 (Target("cpu", 1.00, CURLS), Target("cpu", None, FLOOR), memory(140))),
        Workload("sequential", f"{small}, one at a time, one connection", sequential, (Target("wall", 0.97, "curl"),)),
        Workload("one-small", "one file of 4 KiB: the whole process", one_small,
                 (Target("wall", 1.70, "curl"), memory(18)), repetitions=sizes.repetitions),
        Workload("start", "--version: starting and ending alone", start,
                 (Target("wall", 1.08, "curl"),), repetitions=sizes.repetitions),
    ]


# The calls of each

DRAWING = "dlm, in a terminal"


def small_files(site, sizes):
    files = site.nginx.files("small", sizes.small, 4 * KIB)
    return [dlm(files, "-j", "64"), drawing(files, "-j", "64", name=DRAWING), floor(files, 64),
            curl_parallel(files, at_once=64), wget2(files, at_once=64), aria2c(files, at_once=64)]


def one_name(site, sizes):
    files = site.nginx.named_file(sizes.small, sizes.names, 4 * KIB)
    return [dlm(files, "-j", "64"), curl_parallel(files, at_once=64)]


def one_loop(site, sizes):
    files = site.nginx.files("small", sizes.small, 4 * KIB)
    return [dlm(files, "-j", "64", environment={"DLM_LOOPS": "1"}), floor(files, 64),
            curl_parallel(files, at_once=64)]


NO_CACHE, FIRST = "dlm --no-cache", "dlm, first run"
AGAIN, COPIED = "dlm, again: 304s", "dlm, another folder: 304s"
FRESH, FRESH_COPIED = "dlm, again: fresh", "dlm, another folder: fresh"


def caching(site, sizes):
    files, fresh = site.nginx.files("small", sizes.small, 4 * KIB), site.nginx.fresh_files(sizes.small, 4 * KIB)
    return [dlm(files, "-j", "64", name=NO_CACHE), cached(files, name=FIRST),
            cached(files, name=AGAIN, after=[files]),
            cached(files, name=COPIED, after=[files], elsewhere=True),
            cached(fresh, name=FRESH, after=[fresh]),
            cached(fresh, name=FRESH_COPIED, after=[fresh], elsewhere=True), copy(fresh),
            curl_parallel(files, at_once=64)]


def many(site, sizes):
    files = site.nginx.same_file("many", sizes.many, 4 * KIB)
    return [dlm(files, "-j", "64"), floor(files, 64), curl_parallel(files, at_once=64)]


def million(site, sizes):
    return [dlm(site.nginx.same_file("million", count, 40), "-j", "64", name=million_name(count))
            for count in (sizes.small, sizes.million)]


def million_name(count):
    return f"dlm, {count:,} files"


def tls(site, sizes):
    files = site.nginx.files("small", sizes.small, 4 * KIB, over="tls")
    certificate = str(site.nginx.certificate)
    return [dlm(files, "-j", "64", "--cacert", certificate),
            curl_parallel(files, "--cacert", certificate, at_once=64),
            wget2(files, f"--ca-certificate={certificate}", at_once=64),
            aria2c(files, f"--ca-certificate={certificate}", at_once=64)]


def http2(site, sizes):
    files = site.nginx.files("small", sizes.small, 4 * KIB, over="http2")
    certificate = str(site.nginx.certificate)
    own = ["-j", "64", "--cacert", certificate]
    return [dlm(files, *own), dlm(files, *own, "--http2", name="dlm --http2"),
            curl_parallel(files, "--cacert", certificate, at_once=64),
            # Here transfers may share a connection, for which curl's own default waits.
            curl_parallel(files, "--cacert", certificate, at_once=64, is_immediate=False, name="curl -Z, waiting"),
            wget2(files, f"--ca-certificate={certificate}", at_once=64),
            aria2c(files, f"--ca-certificate={certificate}", at_once=64)]


def medium_files(site, sizes):
    files = site.nginx.files("medium", sizes.medium, 256 * KIB)
    return [dlm(files, "-j", "64"), floor(files, 64, 100 * KIB), curl_parallel(files, at_once=64),
            wget2(files, at_once=64), aria2c(files, at_once=64)]


def large_files(site, sizes):
    files = site.nginx.files("large", 4, sizes.large)
    return [dlm(files), floor(files, 4, 512 * KIB), curl_parallel(files), wget2(files), aria2c(files, at_once=4)]


def one_large(site, sizes):
    files = site.nginx.files("large", 1, sizes.large)
    return [dlm(files), curl(files), wget2(files), aria2c(files)]


def one_large_tls(site, sizes):
    files = site.nginx.files("large", 1, sizes.large, over="tls")
    certificate = str(site.nginx.certificate)
    return [dlm(files, "--cacert", certificate), curl(files, "--cacert", certificate)]


def one_distant(size):
    def calls(site, _sizes):
        files = site.distant_files(1, size)
        return [dlm(files), aria2c(files, "-x16", "-s16", "-k1M"), axel(files, "-n", "16"), curl(files)]
    return calls


def distant_fat(site, sizes):
    files = site.distant_fat_file(sizes.large)
    return [dlm(files), aria2c(files, "-x8", name="aria2c -x8"),
            aria2c(files, "-x16", "-s16", "-k1M", name="aria2c -x16"), curl(files)]


def distant_small(site, sizes):
    files = site.distant_files(sizes.distant_small, 4 * KIB)
    return [dlm(files), dlm(files, "-j", "64", name="dlm -j 64"), curl_parallel(files),
            curl_parallel(files, at_once=64, name="curl -Z of 64")]


# Bytes of what one page of a shop's loads from its own host: scripts, styles, pictures, icons.
PAGE = [48_213, 12_964, 81_440, 6_318, 2_207, 24_511, 9_870, 33_002, 1_150, 57_925, 4_404, 18_736, 3_081, 14_299,
        71_068, 928, 7_645, 21_370, 39_511, 5_112, 2_890, 10_433, 64_207, 1_676, 28_154, 8_019, 16_602, 3_770, 44_981,
        12_007, 6_925, 1_342, 19_458, 90_213, 4_831, 11_176, 2_465, 35_690, 8_742, 15_023, 27_309, 1_908, 53_117,
        5_560, 13_845, 3_316, 22_074, 7_201, 30_498, 1_021, 9_154, 17_887, 41_632, 2_733, 6_047, 76_512, 4_118,
        25_960, 11_589]


def few_workers(site, sizes):
    files = site.few_workers_files(sizes.few_workers, PAGE)
    # curl's own default: told not to wait, it takes minutes here.
    return [dlm(files), curl_parallel(files, is_immediate=False), wget2(files), aria2c(files)]


AUTO = "dlm -m auto"


def auto_lists(sizes):
    """The lists over which mode auto may not be much slower than any fixed choice."""
    def compared(files_of):
        def calls(site, _sizes):
            files = files_of(site)
            widths = [dlm(files, "-j", str(width), name=f"-j {width}") for width in (2, 4, 16, 64)]
            return [dlm(files, "-m", "auto", name=AUTO), dlm(files, "-m", "sequential", name="-m sequential"), *widths]
        return calls

    small, distant = sizes.small, sizes.distant_small // 5
    return [
        ("small", f"{small:,} files of 4 KiB",
         compared(lambda site: site.nginx.files("small", small, 4 * KIB))),
        ("distant", f"{distant:,} files of 100 KiB, 50 ms to the first byte, 4 MB/s a connection",
         compared(lambda site: site.distant_files(distant, 100 * KIB))),
        ("few-workers", f"{len(PAGE)} files as of a page, from an Apache with {sizes.few_workers} workers",
         compared(lambda site: site.few_workers_files(sizes.few_workers, PAGE))),
        ("refusing", "100 files of 100 KiB, from an nginx that answers 503 above four connections",
         compared(lambda site: site.refusing_files(100, 100 * KIB))),
        ("python", "200 files of 20 KiB, from Python's http.server, with which five connections may wait",
         compared(lambda site: site.python_files(200, 20 * KIB))),
    ]


def slow_many(site, sizes):
    files = site.nginx.files("slow", sizes.slow, 64 * KIB)
    at_once = str(sizes.slow)
    return [dlm(files, "-j", at_once, "--per-host", at_once), floor(files, at_once), curls(files)]


def sequential(site, sizes):
    files = site.nginx.files("small", sizes.small, 4 * KIB)
    return [dlm(files, "-m", "sequential"), floor(files, 1), curl(files)]


def one_small(site, sizes):
    files = site.nginx.files("small", 1, 4 * KIB)
    return [dlm(files), curl(files)]


def start(_site, _sizes):
    return [Call(tool, [tool, "--version"]) for tool in ("dlm", "curl")]
