//go:build amd64 || arm64

package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() { programs["look"] = lookProgram }

const (
	ofClass = "/sys/class/infiniband"
	asLink  = ofClass + "/" + DeviceName
	asReal  = "/sys/devices/virtual/infiniband/" + DeviceName
)

// A search is a way in which a program looks for the device, with the answer that it expects.
type search struct {
	desc, want string
	look       func() (string, error)
}

// lookProgram looks for the device in each way that is in looks, and says what it does not find. An
// argument stands for duplicates too.
func lookProgram(args []string) error {
	var all error
	ways := looks
	if len(args) > 0 && args[0] == "duplicates" {
		ways = append(slices.Clone(looks), duplicates...)
	}
	for _, l := range ways {
		if got, err := l.look(); err != nil || got != l.want {
			all = errors.Join(all, fmt.Errorf("%s: %q, %v, want %q", l.desc, got, err, l.want))
		}
	}
	return all
}

// looks are ways in which programs look for a device. Each has the answer that a host with a device
// without PCI gives.
var looks = []search{
	{"readlink of the device", "../../devices/virtual/infiniband/" + DeviceName, func() (string, error) { return os.Readlink(asLink) }},
	{"readlink of a file", "invalid argument", func() (string, error) { return failure(readLinkAt(unix.AT_FDCWD, asLink+"/node_guid")) }},
	{"a file with a slash behind it", "not a directory", func() (string, error) { return failure("", opens(asLink+"/node_desc/", unix.O_RDONLY)) }},
	{"the device's file with a slash behind it", "not a directory", func() (string, error) { return failure("", opens(devPath+"/", unix.O_RDWR)) }},
	{"a link with a slash behind it", "", func() (string, error) { return "", opens(asLink+"/", unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY) }},
	{"stat of a file with a slash behind it", "not a directory", func() (string, error) { return failure("", unix.Stat(asLink+"/node_desc/", new(unix.Stat_t))) }},
	{"realpath", asReal, func() (string, error) { return filepath.EvalSymlinks(asLink) }},
	{"realpath of the class", ofClass, func() (string, error) { return filepath.EvalSymlinks(ofClass) }},
	{"two folders above the device", "/sys/devices/virtual", func() (string, error) { return filepath.EvalSymlinks(asLink + "/subsystem/" + DeviceName + "/../..") }},
	{"a file through .. of the real folder", DeviceName, func() (string, error) {
		return read(unix.AT_FDCWD, asLink+"/../../infiniband_verbs/uverbs0/ibdev")
	}},
	{"the device by its number", DeviceName, func() (string, error) { return read(unix.AT_FDCWD, "/sys/dev/char/231:192/ibdev") }},
	{"lstat of the device", "L---------", func() (string, error) { return mode(os.Lstat(asLink)) }},
	{"stat of the device", "d---------", func() (string, error) { return mode(os.Stat(asLink)) }},
	{"through a link of the program's own", "rddp run", ownLink},

	{"a listing of /sys/class", "infiniband d infiniband_verbs d", func() (string, error) { return list("/sys/class", "infini") }},
	{"a listing of /dev", "infiniband d", func() (string, error) { return list("/dev", "infini") }},
	{"a listing of /sys/class/misc", "rdma_cm L", func() (string, error) { return list("/sys/class/misc", "rdma") }},
	{"a listing of /sys/devices/virtual", "infiniband d infiniband_verbs d", func() (string, error) { return list("/sys/devices/virtual", "infini") }},
	{"two listings of /dev that begin", "infiniband infiniband", func() (string, error) {
		first := func() (string, error) {
			return below("/dev", func(dir int) (string, error) {
				b := make([]byte, 4096)
				n, err := unix.Getdents(dir, b)
				var names []string
				_, _, names = unix.ParseDirent(b[:max(n, 0)], 1, names)
				return strings.Join(names, " "), err
			})
		}
		one, err := first()
		two, err2 := first()
		return one + " " + two, errors.Join(err, err2)
	}},
	{"a listing of /dev, again from the beginning", "2", func() (string, error) {
		f, err := os.Open("/dev")
		if err != nil {
			return "", err
		}
		defer f.Close()
		one, err := f.Readdirnames(-1)
		_, err2 := f.Seek(0, io.SeekStart)
		two, err3 := f.Readdirnames(-1)
		n := 0
		for _, name := range append(one, two...) {
			if name == "infiniband" {
				n++
			}
		}
		return fmt.Sprint(n), errors.Join(err, err2, err3)
	}},
	{"a listing of the class", DeviceName + " L", func() (string, error) { return list(ofClass, "") }},
	{"a listing of the device files", "rdma_cm D uverbs0 D", func() (string, error) { return list(devDir, "") }},

	{"a path below a descriptor of /", "rddp run", func() (string, error) { return readBelow("/", "sys/class/infiniband/"+DeviceName+"/node_desc") }},
	{"a path below a descriptor of /sys/class", "rddp run", func() (string, error) { return readBelow("/sys/class", "infiniband/"+DeviceName+"/node_desc") }},
	{"a path below a descriptor of the class", "rddp run", func() (string, error) { return readBelow(ofClass, DeviceName+"/node_desc") }},
	{"the device below a descriptor of /dev", "d: 231:192", func() (string, error) { return deviceBelow("/dev", "infiniband/uverbs0") }},
	{"the device below a descriptor of its folder", "d: 231:192", func() (string, error) { return deviceBelow(devDir, "uverbs0") }},
	{"the device below duplicates", "", func() (string, error) {
		return "", errors.Join(
			belowDuplicate(func(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3) }),
			belowDuplicate(func(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD, 0) }),
			belowDuplicate(unix.Dup),
			belowDuplicate(func(fd int) (int, error) { return fd - 16, unix.Dup3(fd, fd-16, unix.O_CLOEXEC) })) // such a number, too
	}},
	{"descriptors of a child", DeviceName + "\n", func() (string, error) {
		dir, err := unix.Open(ofClass, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(dir)
		got, err := exec.Command("ls", fmt.Sprintf("/proc/self/fd/%d/", dir)).Output()
		return string(got), err
	}},
	{"readlink below a descriptor", "../../devices/virtual/infiniband/" + DeviceName, func() (string, error) {
		return below(ofClass, func(dir int) (string, error) { return readLinkAt(dir, DeviceName) })
	}},
	{"the name of a descriptor", asReal, func() (string, error) {
		return below(asLink, func(dir int) (string, error) { return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir)) })
	}},
	{"a link itself", "L: ../../devices/virtual/infiniband_verbs/uverbs0", func() (string, error) { return linkItself(unix.AT_FDCWD, "/sys/dev/char/231:192") }},
	{"a link itself, below /", "L: ../../devices/virtual/infiniband_verbs/uverbs0", func() (string, error) {
		return below("/", func(dir int) (string, error) { return linkItself(dir, "sys/dev/char/231:192") })
	}},
	{"a link itself, below its folder", "L: ../../devices/virtual/infiniband_verbs/uverbs0", func() (string, error) {
		return below("/sys/dev/char", func(dir int) (string, error) { return linkItself(dir, "231:192") })
	}},
	{"a link itself, below a folder of the device", "L: ../../../../class/infiniband", func() (string, error) {
		return below(asLink, func(dir int) (string, error) { return linkItself(dir, "subsystem") })
	}},
	{"a link that is not to be followed", "too many levels of symbolic links", func() (string, error) {
		return failure(readAll(unix.Open("/sys/dev/char/231:192", unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)))
	}},
	{"openat2", "rddp run", func() (string, error) {
		fd, err := unix.Openat2(unix.AT_FDCWD, asLink+"/node_desc", &unix.OpenHow{Flags: unix.O_RDONLY})
		return readAll(fd, err)
	}},

	{"a path below the working directory /", "rddp run", func() (string, error) { return readFrom("/", "sys/class/infiniband/"+DeviceName+"/node_desc") }},
	{"a path below the working directory /sys/class", "rddp run", func() (string, error) { return readFrom("/sys/class", "infiniband/"+DeviceName+"/node_desc") }},
	{"a path beside the working directory", "rddp run", func() (string, error) { return readFrom("/sys/class/net", "../infiniband/"+DeviceName+"/node_desc") }},

	{"the working directory", asReal, func() (string, error) {
		return in(asLink, func() (string, error) { return syscall.Getwd() })
	}},
	{"the link of the working directory", asReal, func() (string, error) {
		return in(asLink, func() (string, error) { return os.Readlink("/proc/self/cwd") })
	}},
	{"a path below the working directory in the device", "4: ACTIVE", func() (string, error) { return readFrom(asLink, "ports/1/state") }},
	{"a path above the working directory in the device", DeviceName, func() (string, error) { return readFrom(asLink, "../../infiniband_verbs/uverbs0/ibdev") }},
	{"a folder below the working directory", asReal + "/ports/1", func() (string, error) {
		return in(asLink, func() (string, error) { return syscall.Getwd() }, "ports", "1")
	}},
	{"out of the device by ..", "/sys/class", func() (string, error) {
		return in(ofClass, func() (string, error) { return syscall.Getwd() }, "..")
	}},
	{"back from the device", "/sys/class/net", func() (string, error) {
		return in(ofClass, func() (string, error) { return syscall.Getwd() }, "../net")
	}},
	{"fchdir", ofClass, func() (string, error) {
		return below(ofClass, func(dir int) (string, error) {
			if err := unix.Fchdir(dir); err != nil {
				return "", err
			}
			got, err := syscall.Getwd()
			return got, errors.Join(err, os.Chdir("/"))
		})
	}},
	{"a device of the working directory", "d: 231:192", func() (string, error) {
		return in(devDir, func() (string, error) {
			var st unix.Stat_t
			err := unix.Stat("uverbs0", &st)
			return fmt.Sprintf("d: %d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)), err
		})
	}},
	{"chdir to a file", "not a directory", func() (string, error) { return failure("", unix.Chdir(asLink+"/node_desc")) }},
	{"chdir to nothing", "no such file or directory", func() (string, error) { return failure("", unix.Chdir(asLink+"/nothing")) }},
	{"descriptors after chdir", "0", func() (string, error) {
		before, err := os.ReadDir("/proc/self/fd")
		if err == nil {
			_, err = in(asLink, func() (string, error) { return "", nil })
		}
		after, err2 := os.ReadDir("/proc/self/fd")
		return fmt.Sprint(len(after) - len(before)), errors.Join(err, err2)
	}},
	{"statfs", "sysfs", func() (string, error) {
		var st, sys unix.Statfs_t
		if err := errors.Join(unix.Statfs(asLink, &st), unix.Statfs("/sys", &sys)); err != nil || st.Type != sys.Type {
			return fmt.Sprint(st.Type), err
		}
		return "sysfs", nil
	}},
	{"fstatfs", "true", func() (string, error) {
		return below(asLink, func(dir int) (string, error) {
			var st, sys unix.Statfs_t
			err := errors.Join(unix.Fstatfs(dir, &st), unix.Statfs("/sys", &sys))
			return fmt.Sprint(st.Type == sys.Type), err
		})
	}},
	{"fstatfs above the device", "true", func() (string, error) {
		return below("/dev", func(dir int) (string, error) {
			var st, dev unix.Statfs_t
			err := errors.Join(unix.Fstatfs(dir, &st), unix.Statfs("/dev", &dev))
			return fmt.Sprint(st.Type == dev.Type), err
		})
	}},
	{"a walk with descriptors of O_PATH, as udevadm's", "../../devices/virtual/infiniband/" + DeviceName, func() (string, error) {
		const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
		dir, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		for _, name := range []string{"sys", "class", "infiniband", DeviceName} {
			if err != nil {
				return name, err
			}
			next, e := unix.Openat(dir, name, flags, 0)
			unix.Close(dir)
			dir, err = next, e
		}
		if err != nil {
			return "", err
		}
		defer unix.Close(dir)
		return readLinkAt(dir, "")
	}},
	{"getxattr", "no data available", func() (string, error) {
		_, err := unix.Getxattr(asLink, "user.x", make([]byte, 9))
		return failure("", err)
	}},
	{"listxattr", "0", func() (string, error) {
		n, err := unix.Listxattr(devPath, make([]byte, 9))
		return fmt.Sprint(n), err
	}},
}

// belowDuplicate finds the device below a duplicate of the folder of the device files.
func belowDuplicate(duplicate func(fd int) (int, error)) error {
	_, err := below(devDir, func(dir int) (string, error) {
		twin, err := duplicate(dir)
		if err != nil {
			return "", err
		}
		defer unix.Close(twin)
		var st unix.Stat_t
		if err = unix.Fstatat(twin, "uverbs0", &st, 0); err == nil && st.Rdev != unix.Mkdev(devMajor, devMinor) {
			err = fmt.Errorf("below the duplicate %d of %d is no device", twin, dir)
		}
		return "", err
	})
	return err
}

// withDuplicate calls do with a duplicate of a file, after the file itself has been closed.
func withDuplicate(name string, do func(fd int) (string, error)) (string, error) {
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	twin, err := unix.Dup(fd)
	unix.Close(fd)
	if err != nil {
		return "", err
	}
	defer unix.Close(twin)
	return do(twin)
}

// duplicates are what duplicates of the device files do, where the supervisor may have copies of
// the program's descriptors.
var duplicates = []search{
	{"a duplicate of the device", "Dc---------", func() (string, error) {
		return withDuplicate(devPath, func(fd int) (string, error) { return mode(os.NewFile(uintptr(fd), "").Stat()) })
	}},
	{"a command to a duplicate of rdma_cm", "invalid argument", func() (string, error) {
		return withDuplicate(cmPath, func(fd int) (string, error) {
			_, err := unix.Write(fd, bytes.Repeat([]byte{99, 0, 0, 0}, 4))
			return failure("", err)
		})
	}},
}

// failure returns the text of an error that is expected.
func failure(got string, err error) (string, error) {
	if err == nil {
		return got, errors.New("no error")
	}
	return err.Error(), nil
}

func readLinkAt(dir int, name string) (string, error) {
	b := make([]byte, 256)
	n, err := unix.Readlinkat(dir, name, b)
	return string(b[:max(n, 0)]), err
}

func mode(i os.FileInfo, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return i.Mode().Type().String(), nil
}

func read(dir int, name string) (string, error) {
	return readAll(unix.Openat(dir, name, unix.O_RDONLY, 0))
}

func readAll(fd int, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	b := make([]byte, 256)
	n, err := unix.Read(fd, b)
	return strings.TrimSpace(string(b[:max(n, 0)])), err
}

// list returns the entries of a folder that begin with prefix, with their types.
func list(dir, prefix string) (string, error) {
	all, err := os.ReadDir(dir)
	var names []string
	for _, e := range all {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name()+" "+e.Type().String()[:1])
		}
	}
	slices.Sort(names)
	return strings.Join(names, " "), err
}

func below(dir string, do func(fd int) (string, error)) (string, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return do(fd)
}

func readBelow(dir, name string) (string, error) {
	return below(dir, func(fd int) (string, error) { return read(fd, name) })
}

// deviceBelow opens a device, and returns its type and number as they are below dir and afterwards.
func deviceBelow(dir, name string) (string, error) {
	return below(dir, func(at int) (string, error) {
		var st, opened unix.Stat_t
		fd, err := unix.Openat(at, name, unix.O_RDWR, 0)
		if err == nil {
			err = errors.Join(unix.Fstatat(at, name, &st, 0), unix.Fstat(fd, &opened), unix.Close(fd))
		}
		if err != nil || st.Rdev != opened.Rdev || st.Mode != opened.Mode || st.Mode&unix.S_IFMT != unix.S_IFCHR {
			return fmt.Sprintf("%o %o", st.Mode, opened.Mode), err
		}
		return fmt.Sprintf("d: %d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)), nil
	})
}

func readFrom(dir, name string) (got string, err error) {
	return in(dir, func() (string, error) { return read(unix.AT_FDCWD, name) })
}

// in calls do with the working directory dir, and then the folders below it.
func in(dir string, do func() (string, error), then ...string) (got string, err error) {
	for _, d := range append([]string{dir}, then...) {
		if err := unix.Chdir(d); err != nil {
			return d, err
		}
	}
	got, err = do()
	return got, errors.Join(err, unix.Chdir("/"))
}

func ownLink() (string, error) {
	link := filepath.Join(os.TempDir(), fmt.Sprintf("rddp-test-link-%d", os.Getpid()))
	if err := os.Symlink(ofClass, link); err != nil {
		return "", err
	}
	got, err := read(unix.AT_FDCWD, link+"/"+DeviceName+"/node_desc")
	return got, errors.Join(err, os.Remove(link))
}

// opens returns the error of an open.
func opens(name string, flags int) error {
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// The program finds the device in each way in which programs look for one.
func TestLook(t *testing.T) {
	if err := under(performance(t, "look", "duplicates")...).Run(); err != nil {
		t.Error(err)
	}
}

// TestNumbersOfFolders: with few descriptors, folders have the lowest free numbers.
func TestNumbersOfFolders(t *testing.T) {
	if err := under("sh", "-c", "ulimit -n 16 && ls -A /sys/class/infiniband | grep -q "+DeviceName).Run(); err != nil {
		t.Error(err)
	}
}

func TestResolve(t *testing.T) {
	tr := &tree{root: t.TempDir()}
	for name, to := range deviceLinks() {
		if err := put(filepath.Join(tr.root, name), func(p string) error { return os.Symlink(to, p) }); err != nil {
			t.Fatal(err)
		}
	}
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path   string
		follow bool
		want   string // "" if the tree has nothing to do with it
	}{
		{"/sys/class/infiniband", true, "/sys/class/infiniband"},
		{"/sys//class/./infiniband/", true, "/sys/class/infiniband"},
		{asLink, false, asLink},
		{asLink, true, asReal},
		{asLink + "/", false, asReal},
		{asLink + "/ports/1", false, asReal + "/ports/1"},
		{asLink + "/..", true, "/sys/devices/virtual/infiniband"},
		{asLink + "/../../../..", true, "/sys"},
		{asReal + "/subsystem/" + DeviceName + "/fw_ver", true, asReal + "/fw_ver"},
		{"/../..", true, "/"},
		{"/sys/class/infiniband2", true, ""},
		{"/proc/self/root/sys/class/infiniband", true, ""},
		{loop + "/infiniband", true, ""},
	} {
		if got, ok := tr.resolve(tt.path, tt.follow); ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("resolve(%q, %v) = %q, %v, want %q", tt.path, tt.follow, got, ok, tt.want)
		}
	}
}

// Children inherit a working directory in the device, and a signal to the program does not disturb
// the change.
func TestWorkingDirectory(t *testing.T) {
	const script = `cd /sys/class/infiniband/$1 && cat ports/1/state && sh -c "pwd -P; cd -P ../../.. && pwd -P; cd /dev/infiniband && pwd -P && ls"`
	const want = "4: ACTIVE\n" + asReal + "\n/sys/devices\n" + devDir + "\nrdma_cm\nuverbs0\n"
	c := under("sh", "-c", script, "sh", DeviceName)
	if got, err := c.Output(); err != nil || string(got) != want {
		t.Errorf("the program says %q, %v, want %q", got, err, want)
	}
}

// linkItself opens a symbolic link, and returns what it is and where it leads.
func linkItself(dir int, name string) (string, error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return fmt.Sprintf("mode %o", st.Mode), err
	}
	to, err := readLinkAt(fd, "")
	return "L: " + to, err
}
