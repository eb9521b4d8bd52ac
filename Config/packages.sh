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

# What a build links against: libcurl, SQLite, zlib, an allocator, and the headers that Swift's runtime wants.
build_packages="libcurl4-openssl-dev libsqlite3-dev zlib1g-dev libmimalloc-dev pkg-config ca-certificates"
