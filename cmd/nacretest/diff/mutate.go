package diff

// Mutate makes the case of a seed from an application.
func Mutate(seed uint64) *Case { return Generate(seed) }
