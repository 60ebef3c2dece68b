package main

import (
	"context"
	"testing"
)

func TestGPUConfig(t *testing.T) {
	config := parseGPU("NVIDIA H200, 580.159.04, 1980 MHz, 3201 MHz, 0x0000000000000000, 41\n")
	if len(config) != 6 || config[0].Key != "gpu" || string(config[2].Value) != "1980 MHz" {
		t.Errorf("got %+v", config)
	}
	if parseGPU("Unable to determine the device handle") != nil {
		t.Error("took an error for an answer")
	}
	if config := gpuConfig(context.Background(), "no such card"); config != nil {
		t.Errorf("a card that is not there: %+v", config)
	}
	for _, c := range []struct{ ordinal, visible, want string }{
		{"1", "", "1"}, {"0", "3,1", "3"}, {"1", "3, GPU-8f5a", "GPU-8f5a"}, {"2", "3,1", "2"}, {"x", "3", "x"},
	} {
		if got := visibleGPU(c.ordinal, c.visible); got != c.want {
			t.Errorf("%s of %q is %q, want %q", c.ordinal, c.visible, got, c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{timeText(0), "0 ns"},
		{timeText(999), "999 ns"},
		{timeText(4321), "4.32 us"},
		{timeText(71.42e6), "71.4 ms"},
		{timeText(238e6), "238 ms"},
		{timeText(2.26e9), "2.26 s"},
		{bytesText(512), "512"},
		{bytesText(61952), "62.0k"},
		{bytesText(20.9e6), "20.9M"},
		{bytesText(3e9), "3.00G"},
		{ratioText(1.199), "1.20x"},
		{ratioText(17665), "17665x"},
		{suggest("fussed", []string{"loop", "fused", "padded"}), "; did you mean fused?"},
		{suggest("sim", []string{"host", "sim:h200"}), "; did you mean sim:h200?"},
		{suggest("qqqqqq", []string{"loop", "fused"}), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
