# Sourced by ./run, ./test, ./lint and .ci/run from the project's root: packages and builds.

# packages_missing GROUP...: the packages of cmake/packages that are not installed, one per line.
packages_missing() {
  local group wanted
  for group in "$@"; do
    wanted=$(awk -v group="$group" '$1 == group { print $2 }' cmake/packages)
    # shellcheck disable=SC2086  # one word per package
    comm -23 <(sort <<<"$wanted") \
      <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null |
          awk '$2 == "installed" { print $1 }' | sort -u)
  done
}

# install_packages GROUP...: installs what is missing; touches no package index when nothing is.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "Not a Debian system: please see to the packages in cmake/packages yourself." >&2
    return
  fi
  local missing as_root=()
  mapfile -t missing < <(packages_missing "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      refuse_or_go_without "$@"
      return
    fi
    as_root=(sudo)
  fi
  echo "Installing ${#missing[@]} packages: ${missing[*]}"
  quietly "${as_root[@]}" apt-get update -qq
  quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# Without the right to install, only packages of the groups `plots` and `runtimes` may be missing.
refuse_or_go_without() {
  local groups=() group needed
  for group in "$@"; do
    [[ $group == plots || $group == runtimes ]] || groups+=("$group")
  done
  needed=$(packages_missing "${groups[@]}" | xargs)
  if [[ -n $needed ]]; then
    echo "Packages are missing and this user is neither root nor has sudo. As root, run:" >&2
    echo "  apt-get update && apt-get install $needed" >&2
    exit 2
  fi
  echo "Going on without optional packages (neither root nor sudo): ${missing[*]}" >&2
}

# configure_and_build PRESET [cmake options] [-- target]: the build's own output on a terminal,
# otherwise only when it fails.
configure_and_build() {
  local preset=$1 options=() target=all
  shift
  while (($#)); do
    if [[ $1 == -- ]]; then
      target=$2
      break
    fi
    options+=("$1")
    shift
  done
  [[ -d build/$preset ]] || echo "Building build/$preset, this first time from nothing"
  quietly cmake --preset "$preset" "${options[@]}" || return
  if [[ -t 1 ]]; then
    cmake --build --preset "$preset" --target "$target"
  else
    quietly cmake --build --preset "$preset" --target "$target"
  fi
}

# quietly COMMAND...: shows what it printed only when it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  ((status == 0)) || cat "$log" >&2
  rm -f "$log"
  return "$status"
}
