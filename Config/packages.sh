# Sourced by the scripts beside it: installs Debian packages that are missing, and says so.
# usage: need_packages PACKAGE…

need_packages() {
  missing=
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
      missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -eq 0 ]; then
    as_root=
  elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
  else
    echo "Missing Debian packages:$missing" >&2
    echo "Install them as root: apt-get install$missing" >&2
    return 1
  fi
  echo "Installing Debian packages:$missing" >&2
  # shellcheck disable=SC2086 # a list of words on purpose
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >/dev/null 2>&1 || {
    $as_root apt-get update -qq >&2
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >&2
  }
}

need_swift() {
  command -v swift >/dev/null 2>&1 && return 0
  echo "Swift 6.2 or newer is needed and was not found: install it from https://www.swift.org/install/linux/" >&2
  return 1
}

# What the tests look at screens with (Debian's pyte is older, and takes some sequences for text), and what they look at
# pages with: selenium drives Debian's Chromium. What these need is named too, so that nothing moves by itself.
terminal_modules='pyte==0.8.2 wcwidth==0.2.13'
browser_modules='selenium==4.51.0 attrs==26.1.0 certifi==2026.10.18 h11==0.16.0 idna==3.20 outcome==1.3.0.post0
  PySocks==1.7.1 sniffio==1.3.1 sortedcontainers==2.4.0 trio==0.35.0 trio-websocket==0.12.2 typing_extensions==4.16.0
  urllib3==2.8.0 websocket-client==1.9.2 wsproto==1.3.2'

# The store of S3 that the tests ask beside their own: in a folder of its own, because Debian's botocore, with which it checks
# signatures, needs an older urllib3 than selenium.
store_packages="python3-flask python3-flask-cors python3-boto3 python3-responses python3-xmltodict awscli"
store_modules='moto==4.1.15'

# The engines of the recipes in ManyMachines.md: most of their time to install is one of Python's, with all it needs.
engine_packages="slurmctld slurmd slurm-client munge"
engine_modules='snakemake==9.27.1 kubernetes-validate==1.37.0'
need_engines() {
  # shellcheck disable=SC2086 # a list of words on purpose
  need_packages $engine_packages
  [ -d "$root/.build/engines/kubernetes_validate" ] && [ -d "$root/.build/engines/snakemake" ] && return 0
  echo "Installing Python modules: $engine_modules" >&2
  # shellcheck disable=SC2086 # a list of words on purpose
  /usr/bin/python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-compile \
    --target "$root/.build/engines" $engine_modules
}

# usage: need_python_modules MODULE==VERSION…  (each with its SHA-256 in Config/python-modules.txt)
need_python_modules() {
  modules="$root/.build/${python_folder:-python}"
  missing=
  for module in "$@"; do
    [ -d "$modules/$(echo "$module" | sed 's/-/_/g; s/==/-/').dist-info" ] || missing="$missing $module"
  done
  [ -n "$missing" ] || return 0
  echo "Installing Python modules:$missing" >&2
  mkdir -p "$modules"
  for module in $missing; do
    grep "^$module " "$root/Config/python-modules.txt" || {
      echo "Config/python-modules.txt has no SHA-256 for $module" >&2
      return 1
    }
  done >"$modules/wanted.txt"
  /usr/bin/python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-compile \
    --no-deps --upgrade --require-hashes --only-binary :all: --target "$modules" -r "$modules/wanted.txt"
}

# What a build links against: libcurl, what it brings along itself (zlib, brotli, libidn2, libcrypto), SQLite, an allocator, and the
# headers that Swift's runtime wants.
build_packages="libcurl4-openssl-dev zlib1g-dev libbrotli-dev libidn2-dev libsqlite3-dev libssl-dev libmimalloc-dev pkg-config ca-certificates"

# How every package is linked, for release, tests and sanitizers alike: all symbols are bound at the start, so that the table
# of them can be read-only (full RELRO). Package.swift may not ask for it: a package that does could be no dependency of
# another.
swift_flags='-Xlinker -z -Xlinker now'

# How the tests are built: not optimized, so that it takes half the time, but without DEBUG, with which the argument
# parser proves its own definitions several times at each start: a third of all that the tests computed, in some
# thousand processes. Of the index, in which SwiftPM looks for tests, the system's modules are left out. A folder of their
# own keeps them apart from Config/build's.
test_flags='-c release --scratch-path .build/tests -debug-info-format none
  -Xswiftc -Onone -Xswiftc -enable-testing -Xswiftc -index-ignore-system-modules
  -Xswiftc -no-whole-module-optimization -Xswiftc -enable-batch-mode -Xswiftc -incremental'
