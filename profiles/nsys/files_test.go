package nsys

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gputax/device"
	"gputax/profiles"
)

// Real exports, which are not in the repository, are counted as plain SQL
// counts them, device by device.
func TestRealFiles(t *testing.T) {
	dir := os.Getenv("GPUTAX_NSYS_FILES")
	if dir == "" {
		t.Skip("waits for GPUTAX_NSYS_FILES=DIR, a folder of nsys exports (*.sqlite)")
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.sqlite"))
	if len(paths) == 0 {
		t.Fatalf("no *.sqlite in %s", dir)
	}
	for _, path := range paths {
		rec, err := ReadFile(path, Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		got := map[string]int64{}
		for _, o := range rec.Ops.All() {
			what := []string{profiles.OpKernel: "kernels", profiles.OpCopy: "copies", profiles.OpMemset: "memsets"}[o.Kind]
			got[fmt.Sprintf("gpu %d %s", o.Device, what)]++
			got[fmt.Sprintf("gpu %d %s bytes", o.Device, what)] += o.Bytes
			got[fmt.Sprintf("gpu %d %s ns", o.Device, what)] += o.Dur
		}
		c := rec.Counters()
		got["h2d copies"], got["h2d bytes"], got["d2h copies"], got["pageable copies"] = c[device.UploadCopies], c[device.UploadBytes], c[device.DownloadCopies], c[device.PageableCopies]
		got["syncs"] = c[device.Syncs]
		for k, n := range plainSQL(t, path) {
			if got[k] != n {
				t.Errorf("%s: %d %s, plain SQL counts %d", filepath.Base(path), got[k], k, n)
			}
			t.Logf("%-26s %-22s %d", filepath.Base(path), k, got[k])
		}
	}
}

func plainSQL(t *testing.T, path string) map[string]int64 {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sum := map[string]int64{}
	for _, q := range []string{
		"SELECT 'gpu ' || deviceId || ' kernels', count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1",
		"SELECT 'gpu ' || deviceId || ' kernels ns', sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1",
		"SELECT 'gpu ' || deviceId || ' copies', count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY 1",
		"SELECT 'gpu ' || deviceId || ' copies bytes', sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY 1",
		"SELECT 'gpu ' || deviceId || ' memsets bytes', sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMSET GROUP BY 1",
		"SELECT 'h2d copies', count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY c JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = c.copyKind WHERE o.label = 'Host-to-Device'",
		"SELECT 'h2d bytes', sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY c JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = c.copyKind WHERE o.label = 'Host-to-Device'",
		"SELECT 'd2h copies', count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY c JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = c.copyKind WHERE o.label = 'Device-to-Host'",
		"SELECT 'pageable copies', count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY c, ENUM_CUDA_MEM_KIND k WHERE k.label = 'Pageable' AND k.id IN (c.srcKind, c.dstKind)",
		"SELECT 'syncs', count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId WHERE s.value GLOB 'cuda*Synchronize_v*'",
	} {
		rows, err := db.Query(q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var what string
			var n int64
			if err := rows.Scan(&what, &n); err != nil {
				t.Fatal(err)
			}
			sum[what] = n
		}
		rows.Close()
	}
	return sum
}
