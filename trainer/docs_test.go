package trainer

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/variants.md")

// docs/variants.md is the tables of variants and factors.
func TestVariantsDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Variants of the trainer\n\nMade from the tables in package trainer by `go test ./trainer -update`.\n\n")
	b.WriteString("Every variant trains the same: routes, costs and parameters are equal to the bit; where another engine, fused layers\nor the fused rollout round differently, to 1e-4 (`TestVariantsAgree`). A variant is a name for a set of factors; what is not said is\nas in `cpu_loop`. Run one with `gputax run -run Epoch -variant NAME` or `gputax train -variant NAME`.\n\n")
	b.WriteString("| variant | what it does | factors | write-up |\n|---|---|---|---|\n")
	for _, v := range Variants {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.Name, v.About, code(v.Set), v.WriteUp)
	}
	b.WriteString("\n## Factors\n\nAny can be set by itself: `gputax train -set KEY=VALUE`.\n\n| factor | what it switches | values | default |\n|---|---|---|---|\n")
	base := DefaultFactors()
	for _, f := range AllFactors {
		values, def := "a number", ""
		switch {
		case f.number != nil:
			def = fmt.Sprint(*f.number(&base))
		case f.yesNo != nil:
			def = f.Values[0]
		default:
			def = *f.word(&base)
		}
		if f.Values != nil {
			values = code(strings.Join(f.Values, " "))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` |\n", f.Key, f.About, values, def)
	}
	const path = "../docs/variants.md"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the tables say (%v); go test ./trainer -update writes it", path, err)
	}
}

// code is words as code, one by one.
func code(words string) string {
	if words == "" {
		return ""
	}
	return "`" + strings.Join(strings.Fields(words), "` `") + "`"
}
