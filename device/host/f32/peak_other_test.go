//go:build !amd64

package f32

func peaks() []*peak { return nil }
