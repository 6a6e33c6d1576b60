# Lays the source of Rust's core library where `rustup component add rust-src` would, out of Debian's package of the same
# version: for machines on which rustup may download nothing. Signed as all of Debian is; apt works in a folder of its own,
# so that the system's lists and sources stay as they are.
#   rust-src VERSION DESTINATION
set -euo pipefail
version=$1 destination=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work"/{lists,cache/archives}/partial "$work"/{parts,unpacked}
key=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
for suite in trixie-backports forky sid; do
  echo "deb [signed-by=$key] ${mirror:-https://deb.debian.org/debian} $suite main" >"$work/sources.list"
  options=(-qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts="$work/parts"
    -o Dir::Etc::PreferencesParts="$work/parts" -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache"
    -o Acquire::Languages=none -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update || continue
  package=$(apt-cache "${options[@]}" madison rust-src | awk '{ print $3 }' | grep -m 1 -F "$version+") || continue
  (cd "$work" && apt-get "${options[@]}" download "rust-src=$package")
  dpkg-deb --fsys-tarfile "$work"/rust-src_*.deb |
    tar -C "$work/unpacked" -x --exclude='*/library/vendor' --wildcards './usr/src/rustc-*/library'
  mkdir -p "$destination"
  mv "$work"/unpacked/usr/src/rustc-*/library "$destination/library"
  exit 0
done
echo "Debian has no rust-src $version" >&2
exit 1
