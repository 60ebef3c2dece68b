package findings

import (
	"math"

	"gputax/profiles"
)

// copyPrice is what the profile says one copy takes, the host's part included.
func (a *analysis) copyPrice(dir profiles.Dir, pinned bool, bytes int64) int64 {
	p := a.p
	latency, rate := p.UploadPageable, p.UploadPageablePerS
	switch {
	case dir == profiles.DeviceToHost && pinned:
		latency, rate = p.DownloadPinned, p.DownloadPinnedPerS
	case dir == profiles.DeviceToHost:
		latency, rate = p.DownloadPageable, p.DownloadPageablePerS
	case pinned:
		latency, rate = p.UploadPinned, p.UploadPinnedPerS
	}
	return ns(p.CopyHost + latency + float64(bytes)/rate*1e9)
}

// capped is the lower of what the profile says and what was recorded; the
// latter where there is no profile.
func (a *analysis) capped(profile func() int64, recorded int64) int64 {
	if a.p == nil {
		return recorded
	}
	return min(profile(), recorded)
}

// launchPrice is what the profile says n launches keep the device idle for: the
// host issues them, they reach the device, and leave a gap behind them.
func (a *analysis) launchPrice(n int64) int64 {
	return n * ns(a.p.LaunchHost+a.p.LaunchLatency+a.p.LaunchGap)
}

// graphPrice is what starting n graphs takes; mean is what a launch took in the
// recording, for where there is no profile.
func (a *analysis) graphPrice(n, mean int64) int64 {
	if a.p == nil {
		return n * 2 * mean
	}
	return n * ns(a.p.GraphHost+a.p.LaunchLatency)
}

// hostPrice is what the profile says n pieces of work, of that many flops and
// bytes together, would take as a plain loop on the host.
func (a *analysis) hostPrice(n, flops, bytes int64) int64 {
	p := a.p
	return ns(float64(n)*(p.HostCall+p.HostItem) + float64(flops)/p.HostFlopsPerS*1e9 + float64(bytes)/p.HostBytesPerS*1e9)
}

func ns(v float64) int64 { return int64(math.Round(v)) }
