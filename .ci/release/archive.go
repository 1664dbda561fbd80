package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// An entry is a file of an archive.
type entry struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// archive writes the archive for a target: all in one folder, which has the archive's name.
func (r release) archive(out, target string, binary []byte, t texts) error {
	folder := r.name(target)
	entries := []entry{
		{"LICENSE", 0o644, t.license},
		{"NOTICES", 0o644, t.notices},
		{"README.md", 0o644, t.readme},
		{"completions/_rddp", 0o644, t.zsh},
		{"completions/rddp.bash", 0o644, t.bash},
		{"completions/rddp.fish", 0o644, t.fish},
		{"man/man1/rddp.1", 0o644, t.man},
		{"rddp", 0o755, binary},
	}
	write, suffix := r.tarGzip, ".tar.gz"
	if strings.HasPrefix(target, "windows/") {
		entries[len(entries)-1].name = "rddp.exe"
		write, suffix = r.zip, ".zip"
	}
	for i := range entries {
		entries[i].name = folder + "/" + entries[i].name
	}
	content, err := write(entries)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, folder+suffix), content, 0o644)
}

func (r release) tarGzip(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode), Size: int64(len(e.content)), ModTime: r.time,
			Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return compressed(b.Bytes()), nil
}

func (r release) zip(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: r.time}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
