package device

import "time"

// Timer is a Device that can also time its own work, apart from the host's.
type Timer interface {
	// StartTimer marks a point in the Default stream.
	StartTimer() error
	// StopTimer marks another, waits for it, and says how long the device took
	// from the first.
	StopTimer() (time.Duration, error)
}
