# For the run scripts: installs Debian packages that are missing.   . cmake/debian.sh; install_missing PACKAGE..
install_missing() {
  local missing=() package
  for package; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local sudo=
  if [ "$(id -u)" -ne 0 ]; then
    sudo=sudo
    command -v sudo >/dev/null || { echo "please install, as root: ${missing[*]}" >&2; return 1; }
  fi
  echo "installing: ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  $sudo apt-get update -qq || echo "apt-get update failed; trying with the lists at hand" >&2
  $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

tutti_packages=(g++ cmake ninja-build libdnnl-dev libxsimd-dev zlib1g-dev)
example_packages=(libcli11-dev libfmt-dev nlohmann-json3-dev)
