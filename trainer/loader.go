package trainer

import (
	"sync"

	"gputax/device"
	"gputax/vrp"
)

// loader draws batches in order: batch k holds instances k*B to (k+1)*B-1 of
// the seed, whoever makes it. Without workers it draws in Next; with them, they
// draw up to ahead batches before they are asked for.
type loader struct {
	size    vrp.Size
	batch   int
	seed    uint64
	work    device.HostWork
	source  *vrp.Source // of Next, where there are no workers
	slots   []slot
	tickets chan uint64
	wait    sync.WaitGroup
	next    uint64 // the batch that Next returns
	issued  uint64 // the batches workers were told to make
	given   bool   // a slot is with the caller
}

// slot is room for one batch made ahead.
type slot struct {
	batch *vrp.Batch
	ready chan struct{}
}

// newLoader starts a loader at batch number first.
func newLoader(f Factors, size vrp.Size, seed, first uint64) *loader {
	nodes := int64(size.Nodes())
	l := &loader{size: size, batch: f.Batch, seed: seed, next: first, issued: first,
		work: device.HostWork{Calls: int64(f.Batch), Items: int64(f.Batch) * (3*nodes + nodes*nodes), Workers: f.Workers, Ahead: f.ahead()}}
	if f.Workers == 0 {
		l.source = vrp.NewSource()
		l.slots = []slot{{batch: vrp.NewBatch(f.Batch, size)}}
		return l
	}
	l.slots = make([]slot, f.ahead()+1) // one is with the caller
	for i := range l.slots {
		l.slots[i] = slot{batch: vrp.NewBatch(f.Batch, size), ready: make(chan struct{}, 1)}
	}
	l.tickets = make(chan uint64, len(l.slots))
	for range f.Workers {
		l.wait.Go(l.worker)
	}
	l.issue()
	return l
}

func (l *loader) worker() {
	source := vrp.NewSource()
	for k := range l.tickets {
		s := &l.slots[k%uint64(len(l.slots))]
		source.Fill(s.batch, l.seed, k*uint64(l.batch))
		s.ready <- struct{}{}
	}
}

// issue hands out tickets for every free slot.
func (l *loader) issue() {
	for l.issued < l.next+uint64(len(l.slots)) {
		l.tickets <- l.issued
		l.issued++
	}
}

// Next is the next batch; it is the caller's until the call after.
func (l *loader) Next() *vrp.Batch {
	s := &l.slots[l.next%uint64(len(l.slots))]
	if l.source != nil {
		l.source.Fill(s.batch, l.seed, l.next*uint64(l.batch))
		l.next++
		return s.batch
	}
	if l.given {
		l.issue() // the slot given last is free again
	}
	<-s.ready
	l.next, l.given = l.next+1, true
	return s.batch
}

// Seek makes batch number k the next.
func (l *loader) Seek(k uint64) {
	if l.source != nil || k == l.next {
		l.next = k
		return
	}
	for ; l.next < l.issued; l.next++ { // let what was ordered be made
		<-l.slots[l.next%uint64(len(l.slots))].ready
	}
	l.next, l.issued, l.given = k, k, false
	l.issue()
}

// Close ends the workers.
func (l *loader) Close() {
	if l.tickets != nil {
		close(l.tickets)
		l.wait.Wait()
	}
}
