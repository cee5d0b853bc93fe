# For the run scripts: which Debian packages are needed, and installing those that are missing.   . cmake/debian.sh

# packages_of FOLDER..: the packages that the tutti_require(name package) lines of these folders name.
packages_of() {
  grep -rhE --include=CMakeLists.txt --include='*.cmake' '^ *tutti_require\(' "$@" |
    sed -E 's/^ *tutti_require\( *[^ ]+ +([^ )]+).*/\1/' | sort -u
}

# install_missing PACKAGE..
install_missing() {
  local missing=() package sudo=
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "no apt-get here to install with; needed are, by their names in Debian: $*" >&2
    return 0
  fi
  for package; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -x installed >/dev/null || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    sudo=sudo
    command -v sudo >/dev/null || { echo "please install, as root: ${missing[*]}" >&2; return 1; }
  fi
  echo "installing: ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  $sudo apt-get update -qq || echo "apt-get update failed; trying with the lists at hand" >&2
  $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    { echo "these packages could not be installed: ${missing[*]}" >&2; return 1; }
}

# configure_and_build PRESET FOLDER [-DNAME=VALUE..] [--target TARGET..]: Ninja for a new folder; one that exists keeps
# its generator.
configure_and_build() {
  local preset=$1 folder=$2 generator=() options=()
  shift 2
  while [ $# -gt 0 ] && [ "$1" != --target ]; do options+=("$1"); shift; done
  [ -f "$folder/CMakeCache.txt" ] || generator=(-G Ninja)
  cmake --preset "$preset" "${generator[@]}" "${options[@]}"
  cmake --build --preset "$preset" --parallel "$@"
}

tools=(g++ cmake ninja-build)
