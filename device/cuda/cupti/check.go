package cupti

import "fmt"

// sampleBytes is an odd size that nothing else has.
const sampleBytes = 40961

// check makes a memset and a copy of a known size, once a process, and holds
// their records to it. Where there is no context yet it does nothing: whatever
// is recorded is still held to the calls that caused it.
func (l *Library) check() error {
	if l.checked {
		return nil
	}
	ok, err := l.fn.sample(sampleBytes)
	if err != nil {
		return fmt.Errorf("cupti: a copy to check records by: %w", err)
	}
	if !ok {
		return nil
	}
	if err := l.flush(); err != nil {
		return err
	}
	full := l.pool.take()
	defer l.pool.giveBack(full)
	t := &Trace{lib: l, ended: None, names: map[uintptr]string{}}
	if err := l.read(full, t); err != nil {
		return err
	}
	if err := t.finish(); err != nil {
		return err
	}
	memsets, copies := 0, 0
	for i := range t.Ops {
		switch o := &t.Ops[i]; {
		case o.Bytes != sampleBytes || o.Start == 0:
		case o.Kind == OpMemset:
			memsets++
		case o.Down() && o.To == Pageable && o.From == OnDevice:
			copies++
		}
	}
	if memsets != 1 || copies != 1 {
		return fmt.Errorf("cupti: %v: a memset and a download of %d bytes to pageable memory were recorded as %d and %d such ones: records are not laid out as known here; name another in %s", l, sampleBytes, memsets, copies, pathVariable)
	}
	l.checked = true
	return nil
}
