package profiles

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// WriteDir writes the folder to dir, whole or not at all. A profile that is
// there is kept as dir.1, dir.2, ..., and kept says as which; anything else that
// is there is left alone and is an error.
func (f *Folder) WriteDir(dir string) (kept string, err error) {
	dir = filepath.Clean(dir)
	if err := CheckDir(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp) // what is left of it
	if err := os.Chmod(temp, 0o755); err != nil {
		return "", err
	}
	err = f.each(func(name string, write func(io.Writer) error) error {
		return writeFile(filepath.Join(temp, name), write)
	})
	if err != nil {
		return "", err
	}
	if kept, err = setAside(dir, ""); err != nil {
		return "", err
	}
	return kept, os.Rename(temp, dir)
}

// WriteZip writes the folder as one file, whole or not at all; the files in it
// are in a folder of the file's name. A file that is there is kept as
// NAME.1.zip, NAME.2.zip, ...
func (f *Folder) WriteZip(path string) (kept string, err error) {
	if err := CheckZip(path); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return "", err
	}
	defer os.Remove(temp.Name()) // where it is still there
	base := filepath.Base(path)
	base = base[:len(base)-len(filepath.Ext(base))]
	z := zip.NewWriter(temp)
	err = f.each(func(name string, write func(io.Writer) error) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: base + "/" + name, Method: zip.Deflate, Modified: time.Now()})
		if err != nil {
			return err
		}
		return write(w)
	})
	if err := errors.Join(err, z.Close(), temp.Chmod(0o644), temp.Sync(), temp.Close()); err != nil {
		return "", err
	}
	ext := filepath.Ext(path)
	if kept, err = setAside(path[:len(path)-len(ext)], ext); err != nil {
		return "", err
	}
	return kept, os.Rename(temp.Name(), path)
}

// each hands out every file with what writes it, index.md first.
func (f *Folder) each(do func(name string, write func(io.Writer) error) error) error {
	for _, file := range append([]File{{Name: "index.md", Write: f.WriteIndex}}, f.files()...) {
		if err := do(file.Name, file.Write); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<16)
	return errors.Join(write(buffered), buffered.Flush(), file.Sync(), file.Close())
}

// CheckDir refuses what WriteDir would: a file or directory that is there and is
// no profile, and a place where nothing can be written. Asking before a long run
// saves it.
func CheckDir(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return checkParent(dir)
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		index, err := os.ReadFile(filepath.Join(dir, "index.md"))
		if len(entries) == 0 || err == nil && bytes.HasPrefix(index, []byte(indexMark)) {
			return checkParent(dir)
		}
	}
	return fmt.Errorf("%s: %w", dir, errNotOurs)
}

// CheckZip refuses what WriteZip would: what is there and is no file, and a place
// where nothing can be written.
func CheckZip(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w", path, errNotOurs)
	}
	return checkParent(path)
}

// checkParent refuses a path where nothing can be made: it makes something beside
// it, or in the first directory above that is there, and removes that again.
func checkParent(path string) error {
	parent := filepath.Dir(path)
	for parent != filepath.Dir(parent) {
		if _, err := os.Lstat(parent); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		parent = filepath.Dir(parent)
	}
	probe, err := os.MkdirTemp(parent, ".gputax-")
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // without the probe's name
		}
		return fmt.Errorf("nothing can be written in %s: %w; choose another place", parent, err)
	}
	return os.Remove(probe)
}

// setAside renames base+ext, where it is there, to the first free of base.1+ext,
// base.2+ext, ..., and says to what.
func setAside(base, ext string) (string, error) {
	info, err := os.Lstat(base + ext)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() && os.Remove(base+ext) == nil { // an empty directory
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		to := fmt.Sprintf("%s.%d%s", base, i, ext)
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return to, os.Rename(base+ext, to)
		}
	}
}
