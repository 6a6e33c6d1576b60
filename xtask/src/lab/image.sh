#!/bin/bash
# image.sh FOLDER: what the lab boots. A Debian tree with a kernel that has Soft-RoCE, made into a disk image, and a first
# root that finds it. Takes some three minutes, once.
set -eu
into=$1
suite=bookworm
mirror=$(awk '/^URIs:/ { print $2; exit }' /etc/apt/sources.list.d/*.sources 2>/dev/null || true)
packages=linux-image-amd64,ibverbs-utils,ibverbs-providers,rdma-core,perftest,tcpdump,iproute2,iputils-ping,procps,kmod,libpcap0.8
rm -rf "$into"
mkdir -p "$into"
mmdebstrap --quiet --variant=minbase --aptopt='APT::Install-Recommends "false"' --include=$packages \
    $suite "$into/tree" "deb ${mirror:-http://deb.debian.org/debian} $suite main"
rm -rf "$into"/tree/var/lib/apt/lists/* "$into"/tree/var/cache/apt/*.bin "$into"/tree/usr/share/{doc,locale}
cp "$into"/tree/boot/vmlinuz-* "$into/kernel"

# Modules that the disk and the shared folder need, in the order in which they are to be loaded.
version=$(ls "$into/tree/lib/modules")
first=$into/first
mkdir -p "$first"/{bin,modules,proc,sys,dev,new,disk,room}
cp /usr/bin/busybox "$first/bin/busybox"
ln -s busybox "$first/bin/sh"
for module in virtio_pci virtio_blk ext4 overlay 9pnet_virtio 9p; do
    modprobe -d "$into/tree" -S "$version" --show-depends $module | awk '$1 == "insmod" { print $2 }'
done | awk '!seen[$0]++' | while read -r file; do
    name=$(basename "$file")
    cp "$file" "$first/modules/$name"
    echo "$name"
done >"$first/order"
cat >"$first/init" <<'I'
#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
while read -r module; do insmod "/modules/$module"; done </order
mount -t ext4 -o ro,noload /dev/vda /disk
mount -t tmpfs -o size=70% none /room; mkdir /room/upper /room/work
mount -t overlay -o lowerdir=/disk,upperdir=/room/upper,workdir=/room/work none /new
mkdir -p /new/host
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 host /new/host
for each in dev proc sys; do mount --move /$each /new/$each; done
exec switch_root /new /host/guest.sh
I
chmod +x "$first/init"
(cd "$first" && find . | cpio --quiet -o -H newc | gzip -1) >"$into/first.gz"
size=$(($(du -sm "$into/tree" | cut -f1) * 13 / 10 + 64))
truncate -s ${size}M "$into/disk.part"
mkfs.ext4 -q -O ^has_journal -d "$into/tree" "$into/disk.part"
rm -rf "$into/tree" "$first"
mv "$into/disk.part" "$into/disk"
