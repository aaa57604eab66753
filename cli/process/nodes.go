package process

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/value"
)

// Node is a process that serves the store.
type Node struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Address string    `json:"address"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Seen    time.Time `json:"seen"`
}

// Nodes asks the server which processes serve its store, the one that joined first before the others.
func Nodes(ctx context.Context, c *client.Client) ([]Node, error) {
	res, err := c.Query(ctx, "INFO FOR ROOT STRUCTURE", nil)
	if err != nil {
		return nil, err
	}
	if len(res) != 1 || res[0].Err != nil {
		return nil, failed(res)
	}
	list, _ := res[0].Value.Object().Get("nodes")
	all := []Node{}
	if err := json.Unmarshal(value.AppendJSON(nil, list), &all); err != nil {
		return nil, fmt.Errorf("the server's list cannot be read: %w", err)
	}
	return all, nil
}

// failed is the error in answers to one statement.
func failed(res []client.Result) error {
	if len(res) == 1 {
		return res[0].Err
	}
	return fmt.Errorf("the server gave %d answers to one statement", len(res))
}
