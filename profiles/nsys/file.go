package nsys

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modernc.org/sqlite"
)

// magic is what every sqlite file begins with.
const magic = "SQLite format 3\x00"

// Is says whether a file that begins with head may be an export.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// file is an open export.
type file struct {
	conn   driver.Conn
	lookup driver.Stmt         // of StringIds
	tables map[string][]string // columns of every table

	// bulk is a second connection, on which rowFunc calls row: see each.
	bulk driver.Conn
	row  func(row []int64, text string) error
	err  error // of row
	nums []int64
}

// rowFunc is the SQL function that hands rows over.
const rowFunc = "gputax_row"

// open opens an export for reading and lists its tables. Nothing is created
// beside it.
func open(path string) (*file, error) {
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// immutable: no locks, no journal. The schema of a stranger's file may not
	// call functions, and only tables are read, never views.
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: "mode=ro&immutable=1&_pragma=trusted_schema(0)&_pragma=query_only(1)&_pragma=cell_size_check(1)"}
	f := &file{tables: map[string][]string{}}
	d := new(sqlite.Driver) // with a function of its own
	if err := d.RegisterFunction(rowFunc, &sqlite.FunctionImpl{NArgs: -1, VolatileArgs: true, Scalar: f.handOver}); err != nil {
		return nil, err
	}
	for _, c := range []*driver.Conn{&f.conn, &f.bulk} {
		conn, err := d.Open(u.String())
		if err != nil {
			f.close()
			return nil, explain(err)
		}
		*c = conn
	}
	err = f.scan("select m.name, c.name from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' and m.rootpage > 0",
		func(v []driver.Value) error {
			table, column := text(v[0]), text(v[1])
			f.tables[table] = append(f.tables[table], column)
			return nil
		})
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// checkHeader tells a file that is no sqlite file, or not a whole one, in words
// of its own: sqlite's are no help.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errors.New("is a directory")
	}
	if info.Size() == 0 {
		return errors.New("the file is empty")
	}
	head := make([]byte, 100)
	if _, err := io.ReadFull(f, head); err != nil || !Is(head) {
		return errors.New("no sqlite file; nsys export --type sqlite REPORT.nsys-rep makes one of a report")
	}
	pageSize := int64(binary.BigEndian.Uint16(head[16:]))
	if pageSize == 1 {
		pageSize = 1 << 16
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	known := bytes.Equal(head[24:28], head[92:96]) // the count of pages is up to date
	if known && info.Size() < pages*pageSize {
		return fmt.Errorf("cut short: %d bytes of %d; copy or export it again", info.Size(), pages*pageSize)
	}
	return nil
}

func (f *file) close() {
	f.row = nil // the driver keeps rowFunc, and with it f, for good
	if f.lookup != nil {
		f.lookup.Close()
	}
	for _, c := range []driver.Conn{f.conn, f.bulk} {
		if c != nil {
			c.Close()
		}
	}
}

// explain adds to an error of sqlite what to do about it.
func explain(err error) error {
	if s := err.Error(); strings.Contains(s, "malformed") || strings.Contains(s, "not a database") || strings.Contains(s, "corrupt") {
		return fmt.Errorf("damaged: %w; copy or export it again", err)
	}
	return err
}

// has says whether there is a table with all those columns.
func (f *file) has(table string, columns ...string) bool {
	have, ok := f.tables[table]
	for _, c := range columns {
		ok = ok && slices.Contains(have, c)
	}
	return ok
}

// need refuses a table that lacks columns.
func (f *file) need(table string, columns ...string) error {
	for _, c := range columns {
		if !f.has(table, c) {
			return fmt.Errorf("table %s has no column %s: an export of another version of Nsight Systems than this reads (2022 to 2026)", table, c)
		}
	}
	return nil
}

// scan calls with every row of a query; the values are valid until the next.
func (f *file) scan(query string, with func(row []driver.Value) error) error {
	rows, err := f.conn.(driver.QueryerContext).QueryContext(context.Background(), query, nil)
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(row); err == io.EOF {
			return nil
		} else if err != nil {
			return explain(err)
		}
		if err := with(row); err != nil {
			return err
		}
	}
}

// each calls with every row of a large table: whole numbers, NULL as 0, and the
// text of a column that has one; both are valid until the next. The table is
// handed over by an SQL function, within one step of one statement: asking for
// every column of every row takes sqlite three times as long, most of it for
// locks.
func (f *file) each(columns, from string, with func(row []int64, text string) error) error {
	f.row, f.err = with, nil
	rows, err := f.bulk.(driver.QueryerContext).QueryContext(context.Background(), "select count("+rowFunc+"("+columns+")) from "+from, nil)
	if err == nil {
		err = rows.Next(make([]driver.Value, 1))
		rows.Close()
	}
	if f.err != nil {
		return f.err
	}
	if err != nil {
		table, _, _ := strings.Cut(from, " ")
		return fmt.Errorf("table %s: %w", table, explain(err))
	}
	return nil
}

// handOver is rowFunc.
func (f *file) handOver(_ *sqlite.FunctionContext, row []driver.Value) (driver.Value, error) {
	f.nums = f.nums[:0]
	words := ""
	for _, v := range row {
		n, ok := v.(int64)
		if s, isText := v.(string); !ok && isText {
			words = s
		}
		f.nums = append(f.nums, n)
	}
	f.err = f.row(f.nums, words)
	return nil, f.err
}

// string looks an id of StringIds up; "" where it is not there.
func (f *file) string(id int64) (s string, err error) {
	if f.lookup == nil {
		stmt, err := f.conn.Prepare("select value from StringIds where id = ?")
		if err != nil {
			return "", explain(err)
		}
		f.lookup = stmt
	}
	rows, err := f.lookup.(driver.StmtQueryContext).QueryContext(context.Background(), []driver.NamedValue{{Ordinal: 1, Value: id}})
	if err != nil {
		return "", explain(err)
	}
	defer rows.Close()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err == io.EOF {
		return "", nil
	} else if err != nil {
		return "", explain(err)
	}
	return text(row[0]), nil
}

// enum is an enumeration's names by value; empty where the export has none.
func (f *file) enum(table string) (map[int64]string, error) {
	names := map[int64]string{}
	if !f.has(table, "id", "name") {
		return names, nil
	}
	err := f.scan("select id, name from "+table, func(v []driver.Value) error {
		if id, ok := v[0].(int64); ok {
			names[id] = text(v[1])
		}
		return nil
	})
	return names, err
}

// text is a value as text; "" for what is none.
func text(v driver.Value) string {
	switch s := v.(type) {
	case string:
		return s
	case []byte:
		return string(s)
	}
	return ""
}

// integer is a value as a number; 0 for NULL and what is none.
func integer(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}
