package trainer

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"strings"

	"gputax/model"

	"go.yaml.in/yaml/v3"
)

// Config is a training run as its YAML file describes it. Every key must be
// there and no other: a typo never trains something else.
type Config struct {
	Problem struct {
		Customers int `yaml:"customers"`
		Capacity  int `yaml:"capacity"`
	} `yaml:"problem"`
	Model struct {
		Width  int `yaml:"width"`
		Heads  int `yaml:"heads"`
		Layers int `yaml:"layers"`
		Hidden int `yaml:"hidden"`
	} `yaml:"model"`
	Training struct {
		BatchSize    int     `yaml:"batch_size"`
		EpochSize    int     `yaml:"epoch_size"` // instances
		Epochs       int     `yaml:"epochs"`
		LearningRate float64 `yaml:"learning_rate"`
		RateDecay    float64 `yaml:"learning_rate_decay"` // a factor an epoch
		ClipNorm     float64 `yaml:"clip_norm"`
		Seed         uint64  `yaml:"seed"`
	} `yaml:"training"`
	Baseline struct {
		Instances int `yaml:"instances"` // fresh ones, for the test that replaces it
	} `yaml:"baseline"`
}

// ReadConfig reads the file at path.
func ReadConfig(path string) (Config, error) {
	var c Config
	data, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("config: %w", err)
	}
	if err := c.parse(data); err != nil {
		return c, fmt.Errorf("config %s: %w", path, err)
	}
	return c, nil
}

func (c *Config) parse(data []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(c); err != nil {
		return fmt.Errorf("%s", plain(err))
	}
	if err := dec.Decode(new(Config)); err != io.EOF {
		return fmt.Errorf("more than one document")
	}
	var there map[string]any
	if err := yaml.Unmarshal(data, &there); err != nil {
		return err
	}
	if missing := missingKeys("", reflect.TypeOf(*c), there); len(missing) > 0 {
		return fmt.Errorf("missing: %s", strings.Join(missing, ", "))
	}
	return c.validate()
}

// typeName is how the decoder names the type it knows no key for.
var typeName = regexp.MustCompile(` not found in type .*`)

// plain is a decoder's error in one line, without Go's types.
func plain(err error) string {
	var lines []string
	for line := range strings.Lines(strings.TrimPrefix(err.Error(), "yaml: ")) {
		line = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "unmarshal errors:"))
		if line != "" {
			lines = append(lines, typeName.ReplaceAllString(line, ": no such key"))
		}
	}
	return strings.Join(lines, "; ")
}

// missingKeys is the keys of t that a document lacks.
func missingKeys(prefix string, t reflect.Type, there map[string]any) []string {
	var missing []string
	for field := range t.Fields() {
		key := field.Tag.Get("yaml")
		value, ok := there[key]
		if !ok || value == nil {
			missing = append(missing, prefix+key)
			continue
		}
		if sub, isMap := value.(map[string]any); isMap && field.Type.Kind() == reflect.Struct {
			missing = append(missing, missingKeys(prefix+key+".", field.Type, sub)...)
		}
	}
	return missing
}

func (c *Config) validate() error {
	t := c.Training
	switch {
	case t.Epochs < 1:
		return fmt.Errorf("training.epochs: %d: want at least 1", t.Epochs)
	case t.BatchSize < 1:
		return fmt.Errorf("training.batch_size: %d: want at least 1", t.BatchSize)
	case !(t.RateDecay > 0 && t.RateDecay <= 1):
		return fmt.Errorf("training.learning_rate_decay: %v: want more than 0 and at most 1", t.RateDecay)
	case c.Baseline.Instances < 2:
		return fmt.Errorf("baseline.instances: %d: want at least 2", c.Baseline.Instances)
	}
	f := DefaultFactors()
	f.Batch = t.BatchSize
	return c.Options().validate(f)
}

// Options is what the file says about every step.
func (c *Config) Options() Options {
	return Options{
		Model: model.Config{Customers: c.Problem.Customers, Capacity: c.Problem.Capacity,
			Width: c.Model.Width, Heads: c.Model.Heads, Layers: c.Model.Layers, Hidden: c.Model.Hidden},
		Epoch: c.Training.EpochSize, Rate: c.Training.LearningRate, Clip: c.Training.ClipNorm, Seed: c.Training.Seed,
		Run: fmt.Sprintf("learning rate %v, decay %v, %d instances for the baseline", c.Training.LearningRate, c.Training.RateDecay, c.Baseline.Instances),
	}
}

// Rate is the learning rate of an epoch, counted from 0.
func (c *Config) Rate(epoch int) float64 {
	return c.Training.LearningRate * math.Pow(c.Training.RateDecay, float64(epoch))
}
