package memory

import (
	"context"
	"strings"
)

// Manager calls the management API: it makes Contexts, principals and keys.
type Manager struct{ client *Client }

// NewManager makes a client of the management API at base.
func NewManager(base, managementKey string) *Manager {
	c := New(base, "", managementKey)
	c.root = strings.TrimSuffix(c.root, "/")
	return &Manager{c}
}

// Call makes one call below /api/v1. in nil sends no body; out nil drops the answer. A refusal is an *Error.
func (m *Manager) Call(ctx context.Context, method, path string, in, out any) error {
	return m.client.Call(ctx, method, path, "", in, out)
}
