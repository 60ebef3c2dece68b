package nsys

import (
	"database/sql/driver"
	"strings"

	"gputax/profiles"
)

// settings keeps what the export says about the run; never the environment, which
// holds secrets.
func (im *importer) settings() error {
	add := func(key, value string) {
		if value != "" {
			im.rec.Config = append(im.rec.Config, profiles.Setting{Key: key, Value: value})
		}
	}
	if im.has("TARGET_INFO_GPU", "name") {
		if err := im.scan("select name from TARGET_INFO_GPU", func(v []driver.Value) error {
			add("device", text(v[0]))
			return nil
		}); err != nil {
			return err
		}
	}
	var command []string
	for _, t := range []struct{ table, where string }{
		{"TARGET_INFO_SYSTEM_ENV", "name in ('NvDriverVersion', 'OsDescription')"},
		{"META_DATA_CAPTURE", "name = 'PROCESS_0:COMMAND' or name glob 'PROCESS_0:ARGUMENT_*'"},
		{"META_DATA_EXPORT", "name in ('EXPORT_PRODUCT_VERSION', 'EXPORT_SCHEMA_VERSION')"},
	} {
		if !im.has(t.table, "name", "value") {
			continue
		}
		if err := im.scan("select name, value from "+t.table+" where "+t.where, func(v []driver.Value) error {
			switch name, value := text(v[0]), text(v[1]); {
			case name == "NvDriverVersion":
				add("driver", value)
			case name == "OsDescription":
				add("system", value)
			case name == "EXPORT_PRODUCT_VERSION":
				add("nsys", value)
			case name == "EXPORT_SCHEMA_VERSION":
				add("schema", value)
			default:
				command = append(command, value)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	add("command", strings.Join(command, " "))
	return nil
}
