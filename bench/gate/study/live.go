package main

import "context"

func live(ctx context.Context, s *study) error { return nil }
