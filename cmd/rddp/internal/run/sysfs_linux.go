//go:build amd64 || arm64

package run

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
)

// The paths of the device files, and the numbers that the kernel assigns to them.
const (
	devMajor = 231
	devMinor = 192
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
	files := deviceFiles(d, addresses, nodeType)
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.remove()
			return nil, err
		}
		if err := os.WriteFile(path, []byte(content+"\n"), 0o444); err != nil {
			t.remove()
			return nil, err
		}
	}
	return t, nil
}

func (t *tree) remove() {
	_ = os.RemoveAll(t.root)
	_ = t.lock.Close()
}

// newFolder makes the folder of a tree, and locks it. If another supervisor removes the folder
// before it is locked, newFolder makes another.
func newFolder() (*tree, error) {
	for {
		root, err := os.MkdirTemp("", treePrefix)
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
	const verbs, ib = "sys/class/infiniband_verbs/", "sys/class/infiniband/" + DeviceName + "/"
	files := map[string]string{
		verbs + "abi_version":         "6",
		verbs + "uverbs0/ibdev":       DeviceName,
		verbs + "uverbs0/dev":         fmt.Sprintf("%d:%d", devMajor, devMinor),
		verbs + "uverbs0/abi_version": "2",
		"dev/infiniband/uverbs0":      "",
		"dev/infiniband/rdma_cm":      "",

		"sys/class/misc/rdma_cm/abi_version": "4",
		"sys/class/misc/rdma_cm/dev":         fmt.Sprintf("%d:%d", cmMajor, cmMinor),

		ib + "node_type":      nodeType,
		ib + "node_guid":      guid,
		ib + "sys_image_guid": guid,
		ib + "fw_ver":         "",
		ib + "node_desc":      "rddp run",

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

// served are the paths that the tree replaces, with everything below them.
var served = []string{"/sys/class/infiniband", "/sys/class/infiniband_verbs", "/sys/class/misc/rdma_cm", devDir}

// prefixes are prefixes of these paths, in the spelling of nearly all programs.
var prefixes = []string{"/sys/class/inf", "/sys/class/misc/r", "/dev/inf"}

// find translates a path of the program to a path in the tree. It returns false if the tree does
// not replace that path.
func (t *tree) find(path string) (string, bool) {
	if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(path, p) }) && !strings.Contains(path, "//") && !strings.Contains(path, "/.") {
		return "", false // nearly all paths
	}
	clean := filepath.Clean(path)
	for _, s := range served {
		if clean == s || strings.HasPrefix(clean, s+"/") {
			return t.root + clean, true
		}
	}
	return "", false
}
