package nsys

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What cannot be trusted is one clear error.
func TestRefused(t *testing.T) {
	whole, err := os.ReadFile(export(t))
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), whole...)
	for i := 4096; i < len(damaged); i += 2 {
		damaged[i] ^= 0x5a
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "none.sqlite"), "no such file"},
		{"a folder", dir, "is a directory"},
		{"empty", file("empty", nil), "the file is empty"},
		{"text", file("text", []byte(strings.Repeat("not sqlite ", 50))), "nsys export --type sqlite"},
		{"short", file("short", whole[:50]), "nsys export --type sqlite"},
		{"cut short", file("cut", whole[:len(whole)/2]), "cut short"},
		{"cut to its header", file("header", whole[:100]), "cut short"},
		{"damaged", file("damaged", damaged), "damaged"},
		{"foreign", export(t, "DROP TABLE StringIds"), "no table StringIds"},
		{"nothing of a GPU", export(t, "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY", "DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET"), "--trace=cuda,nvtx"},
		{"no rows", export(t, "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL", "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY"), "--trace=cuda,nvtx"},
		{"no directions", export(t, "DROP TABLE ENUM_CUDA_MEMCPY_OPER"), "ENUM_CUDA_MEMCPY_OPER"},
		{"no start", export(t, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN start TO begin"), "CUPTI_ACTIVITY_KIND_KERNEL has no column start"},
		{"no name", export(t, "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME DROP COLUMN nameId"), "CUPTI_ACTIVITY_KIND_RUNTIME has no column nameId"},
		{"views", export(t, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO k", "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY", "DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET",
			"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM k"), "nothing of a GPU"},
	} {
		rec, err := ReadFile(c.path, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "nsys: "+c.path) {
			t.Errorf("%s: %v %v; want an error with %q", c.name, rec, err, c.want)
		}
	}
	if _, err := ReadFile(export(t), Options{Step: "("}); err == nil || !strings.Contains(err.Error(), "step name") {
		t.Errorf("a bad pattern: %v", err)
	}
}

// Rows of the wrong types and senseless values give warnings, not nonsense.
func TestSenselessRows(t *testing.T) {
	rec := read(t, export(t,
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT end, start, deviceId, streamId, correlationId, globalPid, demangledName, shortName, 1, 1, 1, 1, 1, 1, 0 FROM CUPTI_ACTIVITY_KIND_KERNEL",
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 2010, -5, 'seven', x'00', NULL, 12345, NULL, 1e300, 'x', -3, 9223372036854775807, 2, 2, NULL)",
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2100, 2000, 0, NULL, NULL, NULL)",
		"INSERT INTO NVTX_EVENTS VALUES (2100, 2000, 59, 'backwards', 1, NULL, 0), (2100, 2200, 59, NULL, 1, NULL, 0), (2100, 2200, 59, NULL, 1, 999, 0)",
	), Options{})
	if got := strings.Join(rec.Warnings, "\n"); !strings.Contains(got, "10 rows end before they start") || !strings.Contains(got, "1 of 17 kernels") {
		t.Errorf("warnings %q", got)
	}
}

// Whatever the bytes of a file, reading gives an error or a whole recording.
func FuzzRead(f *testing.F) {
	whole, err := os.ReadFile(export(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(100, []byte{1, 2, 3})
	f.Add(4096, []byte{0x0d, 0, 0})
	f.Add(len(whole)-10, []byte{255, 255, 255, 255})
	path := filepath.Join(f.TempDir(), "fuzzed.sqlite")
	f.Fuzz(func(t *testing.T, at int, patch []byte) {
		if at < 0 || len(patch) > 64 {
			return
		}
		data := append([]byte(nil), whole...)
		for i, b := range patch {
			data[(at+i*997)%len(data)] ^= b
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		rec, err := ReadFile(path, Options{})
		if err != nil {
			return
		}
		if err := rec.CheckValid(); err != nil {
			t.Error(err)
		}
		rec.StepTotals()
	})
}
