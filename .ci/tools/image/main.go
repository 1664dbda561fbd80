// Command image makes the container image of a release: an OCI layout, in a tar file, with an image
// for each machine. make release runs it.
//
//	image -time 1767323045 -out FILE linux/amd64=FOLDER linux/arm64=FOLDER
//
// A folder has what the image has, and nothing else.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	at := flag.Int64("time", 0, "the time of all files, in seconds since 1970")
	version := flag.String("version", "", "the version, for the labels")
	commit := flag.String("commit", "", "the commit, for the labels")
	out := flag.String("out", "", "the file to write")
	flag.Parse()
	if err := run(flag.Args(), *out, *version, *commit, time.Unix(*at, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(platforms []string, out, version, commit string, at time.Time) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		platform, folder, _ := strings.Cut(p, "=")
		system, machine, _ := strings.Cut(platform, "/")
		i, err := image(folder, system, machine, version, commit, at)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: i, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: system, Architecture: machine},
		}})
	}
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	l, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	// What loads the layout names the image so. A tag has no plus sign.
	name := map[string]string{"org.opencontainers.image.ref.name": "rddp:" + strings.ReplaceAll(strings.TrimPrefix(version, "v"), "+", "-")}
	if err := l.AppendIndex(index, layout.WithAnnotations(name)); err != nil {
		return err
	}
	content, err := packed(folder, at)
	if err != nil {
		return err
	}
	return os.WriteFile(out, content, 0o644)
}

// image returns the image of one machine. Its user has no name and no rights.
func image(folder, system, machine, version, commit string, at time.Time) (v1.Image, error) {
	content, err := packed(folder, at)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	i := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: at}
	if i, err = mutate.Append(i, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "make release"}}); err != nil {
		return nil, err
	}
	f, err := i.ConfigFile()
	if err != nil {
		return nil, err
	}
	f = f.DeepCopy()
	f.OS, f.Architecture, f.Created = system, machine, created
	f.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/rddp"}, Env: []string{"PATH=/usr/bin"}, User: "65532:65532", WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title": "rddp", "org.opencontainers.image.version": version, "org.opencontainers.image.revision": commit,
		},
	}
	return mutate.ConfigFile(i, f)
}

// packed returns a folder's files as a tar, in the order of their names.
func packed(folder string, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: mode(info.Mode()), ModTime: at, Format: tar.FormatUSTAR}
		switch {
		case d.IsDir():
			h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
			return w.WriteHeader(h)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a file", path)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		h.Size = int64(len(content))
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// mode returns the mode of a file in the image. What the umask has left out of it does not count.
func mode(m fs.FileMode) int64 {
	switch {
	case m&fs.ModeSticky != 0:
		return 0o1777
	case m.IsDir() || m&0o100 != 0:
		return 0o755
	}
	return 0o644
}
