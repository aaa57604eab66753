package define

import (
	"fmt"
	"time"

	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/value"
)

// nodes lists the processes that serve the store: as texts by their ids, or with structure as objects.
func (r *run) nodes(structure bool) (value.Value, error) {
	all, err := nodes.List(r.Ex.Store, r.Tx)
	if err != nil {
		return value.None, err
	}
	var texts []value.Field
	var rows []value.Value
	for i := range all {
		n := &all[i]
		id := value.UUID(n.ID)
		text := fmt.Sprintf("NODE %s SEEN %d ACTIVE", id, n.Beat.UnixMilli())
		texts = append(texts, value.Field{Name: id.String(), Value: value.Str(text)})
		rows = append(rows, value.ObjectOf(value.NewObject(
			value.Field{Name: "address", Value: value.Str(n.Address)},
			value.Field{Name: "id", Value: value.UUIDOf(id)},
			value.Field{Name: "name", Value: value.Str(n.Name)},
			value.Field{Name: "seen", Value: datetime(n.Beat)},
			value.Field{Name: "started", Value: datetime(n.Started)},
			value.Field{Name: "version", Value: value.Str(n.Version)})))
	}
	if structure {
		return value.ArrayOf(rows), nil
	}
	return value.ObjectOf(value.NewObject(texts...)), nil
}

func datetime(t time.Time) value.Value {
	return value.DatetimeOf(value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond())})
}
