package model

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile writes f to path, whole or not at all: to a temporary file beside
// it, synced, then renamed.
func WriteFile(path string, f *File) error {
	if err := writeFile(path, f); err != nil {
		return fmt.Errorf("model: write %s: %w", path, err)
	}
	return nil
}

func writeFile(path string, f *File) (err error) {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	err = f.Encode(tmp)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename in dir last. Where a directory cannot be opened the
// file is still whole, so that is no error.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	return errors.Join(d.Sync(), d.Close())
}

// ReadFile reads what WriteFile wrote. A file that is truncated, altered or
// something else is refused.
func ReadFile(path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("model: read: %w", err)
	}
	defer in.Close()
	f, err := Decode(in)
	if err != nil {
		return nil, fmt.Errorf("model: read %s: %w", path, err)
	}
	return f, nil
}

// Save writes the parameters of a model of size cfg to path.
func Save(path string, cfg Config, params []float32) error {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("model: save %s: %w", path, err)
	}
	if want := NewLayout(cfg).Size; len(params) != want {
		return fmt.Errorf("model: save %s: %d parameters, a model of this size has %d", path, len(params), want)
	}
	f := &File{Sections: []Section{{"params", params}}}
	if err := f.Set("config", cfg); err != nil {
		return err
	}
	return WriteFile(path, f)
}

// Load reads the parameters of a file that holds a config and a section
// params: what Save wrote, or a checkpoint.
func Load(path string) (Config, []float32, error) {
	f, err := ReadFile(path)
	if err != nil {
		return Config{}, nil, err
	}
	cfg, params, err := f.model()
	if err != nil {
		return Config{}, nil, fmt.Errorf("model: load %s: %w", path, err)
	}
	return cfg, params, nil
}

// model is the config and the parameters of f.
func (f *File) model() (cfg Config, params []float32, err error) {
	if err = f.Get("config", &cfg); err != nil {
		return cfg, nil, err
	}
	if err = cfg.Validate(); err != nil {
		return cfg, nil, fmt.Errorf("%w: %w", err, ErrContent)
	}
	if params, err = f.Section("params"); err != nil {
		return cfg, nil, err
	}
	if want := NewLayout(cfg).Size; len(params) != want {
		return cfg, nil, fmt.Errorf("%d parameters, the config says %d: %w", len(params), want, ErrContent)
	}
	return cfg, params, nil
}
