// Package sparse is a map from numbers that mostly follow each other, such as
// correlation ids, to small numbers. It takes a third of the memory of a Go map.
package sparse

// pageSize is how many neighbours are kept together.
const pageSize = 64

type page [pageSize]uint32 // values plus one; 0 is unset

// Table is the map. The zero Table is empty.
type Table struct {
	pages map[uint64]*page
	last  *page // the page of key: neighbours are asked for together
	key   uint64
}

// Set makes v the value of k. v must be less than 1<<32 - 1.
func (t *Table) Set(k uint64, v uint32) {
	p := t.page(k / pageSize)
	if p == nil {
		if t.pages == nil {
			t.pages = map[uint64]*page{}
		}
		p = new(page)
		t.pages[k/pageSize] = p
		t.last, t.key = p, k/pageSize
	}
	p[k%pageSize] = v + 1
}

// Get is the value of k.
func (t *Table) Get(k uint64) (v uint32, ok bool) {
	p := t.page(k / pageSize)
	if p == nil || p[k%pageSize] == 0 {
		return 0, false
	}
	return p[k%pageSize] - 1, true
}

func (t *Table) page(key uint64) *page {
	if t.last != nil && t.key == key {
		return t.last
	}
	p := t.pages[key]
	if p != nil {
		t.last, t.key = p, key
	}
	return p
}
