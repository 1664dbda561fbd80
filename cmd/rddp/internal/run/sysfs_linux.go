//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
)

// The paths of the device files, the numbers that the kernel assigns to them, and the versions of
// their commands.
const (
	devMajor = 231
	devMinor = 192
	devABI   = 2
	cmABI    = 4
	devPath  = "/dev/infiniband/uverbs0"
	cmPath   = "/dev/infiniband/rdma_cm"
	cmMajor  = 10
	cmMinor  = 122
	devDir   = "/dev/infiniband"
)

// A tree is a folder with the files that the program finds in /sys and /dev. They are real files,
// so the kernel handles reading and listing them, and opening files relative to their folders.
//
// A supervisor that is killed cannot remove its tree, so the next one does. The lock on the folder,
// which ends with the process, shows whether a tree is in use.
type tree struct {
	root string
	lock *os.File
}

// treePrefix is the prefix of the folders' names.
const treePrefix = "rddp-run-device-"

// newTree makes the tree for a device.
func newTree(d *softrnic.Device, addresses []netip.Addr, nodeType string) (*tree, error) {
	removeDead()
	t, err := newFolder()
	if err != nil {
		return nil, err
	}
	root := t.root
	for name, content := range deviceFiles(d, addresses, nodeType) {
		err = errors.Join(err, put(filepath.Join(root, name), func(p string) error { return os.WriteFile(p, []byte(content+"\n"), 0o444) }))
	}
	for name, to := range deviceLinks() {
		err = errors.Join(err, put(filepath.Join(root, name), func(p string) error { return os.Symlink(to, p) }))
	}
	if err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

// put makes a file of the tree, and the folders above it.
func put(path string, make func(path string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return make(path)
}

func (t *tree) remove() {
	_ = os.RemoveAll(t.root)
	_ = t.lock.Close()
}

// newFolder makes the folder of a tree, and locks it. If another supervisor removes the folder
// before it is locked, newFolder makes another.
func newFolder() (*tree, error) {
	for {
		root := ""
		dir, err := filepath.EvalSymlinks(os.TempDir()) // the kernel shows descriptors by this name
		if err == nil {
			root, err = os.MkdirTemp(dir, treePrefix)
		}
		if err != nil {
			return nil, fmt.Errorf("the device needs a writable folder for temporary files (TMPDIR): %w", err)
		}
		lock, err := openFolder(root)
		if err != nil {
			if os.IsNotExist(err) {
				continue
			}
			return nil, err
		}
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
			_ = lock.Close()
			_ = os.Remove(root)
			return nil, err
		}
		if _, err := os.Lstat(root); err == nil {
			return &tree{root, lock}, nil
		}
		_ = lock.Close()
	}
}

// openFolder opens a folder. It does not follow a symbolic link.
func openFolder(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// removeDead removes the trees of this user that killed supervisors have left behind.
func removeDead() {
	names, _ := filepath.Glob(filepath.Join(os.TempDir(), treePrefix+"[0-9]*"))
	for _, name := range names {
		f, err := openFolder(name)
		if err != nil {
			continue // it belongs to another user, or is already gone
		}
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st) == nil && st.Uid == uint32(os.Geteuid()) && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(name)
		}
		_ = f.Close()
	}
}

// deviceFiles returns the content of the files by path.
func deviceFiles(d *softrnic.Device, addresses []netip.Addr, nodeType string) map[string]string {
	g := d.GUID()
	guid := fmt.Sprintf("%02x%02x:%02x%02x:%02x%02x:%02x%02x", g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7])
	const verbs, ib, cm = virtual + "infiniband_verbs/uverbs0/", virtual + "infiniband/" + DeviceName + "/", virtual + "misc/rdma_cm/"
	files := map[string]string{
		"sys/class/infiniband_verbs/abi_version": "6",

		verbs + "ibdev":          DeviceName,
		verbs + "dev":            fmt.Sprintf("%d:%d", devMajor, devMinor),
		verbs + "abi_version":    fmt.Sprint(devABI),
		verbs + "uevent":         fmt.Sprintf("MAJOR=%d\nMINOR=%d\nDEVNAME=infiniband/uverbs0", devMajor, devMinor),
		"dev/infiniband/uverbs0": "",
		"dev/infiniband/rdma_cm": "",

		cm + "abi_version": fmt.Sprint(cmABI),
		cm + "dev":         fmt.Sprintf("%d:%d", cmMajor, cmMinor),
		cm + "uevent":      fmt.Sprintf("MAJOR=%d\nMINOR=%d\nDEVNAME=infiniband/rdma_cm", cmMajor, cmMinor),

		ib + "node_type":      nodeType,
		ib + "node_guid":      guid,
		ib + "sys_image_guid": guid,
		ib + "fw_ver":         "",
		ib + "node_desc":      "rddp run",
		ib + "uevent":         "NAME=" + DeviceName,

		ib + "ports/1/state":          "4: ACTIVE",
		ib + "ports/1/phys_state":     "5: LinkUp",
		ib + "ports/1/rate":           "100 Gb/sec (4X EDR)",
		ib + "ports/1/lid":            "0x0",
		ib + "ports/1/lid_mask_count": "0",
		ib + "ports/1/sm_lid":         "0x0",
		ib + "ports/1/sm_sl":          "0",
		ib + "ports/1/cap_mask":       "0x04010000",
		ib + "ports/1/link_layer":     "Ethernet",
		ib + "ports/1/pkeys/0":        "0xffff",
	}
	for i, gid := range d.GIDs() {
		port := ib + "ports/1/"
		files[fmt.Sprintf("%sgids/%d", port, i)] = gidText(gid)
		files[fmt.Sprintf("%sgid_attrs/types/%d", port, i)] = "RoCE v2"
		name, hardware := interfaceOf(addresses[i])
		files[fmt.Sprintf("%sgid_attrs/ndevs/%d", port, i)] = name
		files[ib+"device/net/"+name+"/address"] = hardware
	}
	return files
}

// virtual is the folder of devices that have no hardware.
const virtual = "sys/devices/virtual/"

// deviceLinks returns the symbolic links by path. As in the kernel, each device is in the folder of
// virtual devices, and the folder of its class has a link to it. The links are relative, so they
// lead to the same files if the kernel follows them in the tree.
func deviceLinks() map[string]string {
	links := make(map[string]string)
	for _, d := range []struct{ class, name, number string }{
		{"infiniband", DeviceName, ""},
		{"infiniband_verbs", "uverbs0", fmt.Sprintf("%d:%d", devMajor, devMinor)},
		{"misc", "rdma_cm", fmt.Sprintf("%d:%d", cmMajor, cmMinor)},
	} {
		at := "../../devices/virtual/" + d.class + "/" + d.name
		links["sys/class/"+d.class+"/"+d.name] = at
		links[virtual+d.class+"/"+d.name+"/subsystem"] = "../../../../class/" + d.class
		if d.number != "" {
			links["sys/dev/char/"+d.number] = at
		}
	}
	return links
}

func gidText(g uverbs.GID) string {
	var parts []string
	for i := 0; i < len(g); i += 2 {
		parts = append(parts, fmt.Sprintf("%02x%02x", g[i], g[i+1]))
	}
	return strings.Join(parts, ":")
}

// interfaceOf returns the name and the hardware address of the interface with an address.
func interfaceOf(a netip.Addr) (name, hardware string) {
	all, _ := net.Interfaces() // on an error the device has interface "lo"
	for _, i := range all {
		addrs, _ := i.Addrs()
		for _, x := range addrs {
			if n, ok := x.(*net.IPNet); ok && n.IP.Equal(a.AsSlice()) {
				if len(i.HardwareAddr) == 0 {
					return i.Name, "00:00:00:00:00:00"
				}
				return i.Name, i.HardwareAddr.String()
			}
		}
	}
	return "lo", "00:00:00:00:00:00"
}
