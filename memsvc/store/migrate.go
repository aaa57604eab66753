package store

import (
	"context"
	"fmt"
)

// Migrate brings the tables of every Context to SchemaVersion and gives the ids of those that were behind. It may be
// called again after it failed, and by several processes at once. With dry it only looks.
func (s *Store) Migrate(ctx context.Context, dry bool) (behind []string, err error) {
	all, err := s.Contexts(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		c := &all[i]
		if c.Schema == SchemaVersion {
			continue
		}
		version, err := s.schemaOf(ctx, c)
		if err == nil && version != SchemaVersion {
			behind = append(behind, c.ID)
			if !dry {
				err = s.migrate(ctx, c)
			}
		}
		if err == nil && !dry {
			_, err = s.ctl.query(ctx, "UPDATE $id SET schema = $schema RETURN NONE", Var{"id", ID("context", c.ID)},
				Var{"schema", SchemaVersion})
		}
		if err != nil {
			return behind, fmt.Errorf("bring the tables of Context %s up to date: %w", c.ID, err)
		}
	}
	return behind, nil
}

// schemaOf is the version of the tables of a Context.
func (s *Store) schemaOf(ctx context.Context, c *Context) (string, error) {
	db, err := s.DB(ctx, c)
	if err != nil {
		return "", err
	}
	v, err := db.Query(ctx, "RETURN <string> (SELECT VALUE schema FROM ONLY meta:head)")
	if err != nil {
		return "", err
	}
	return v.Str(), nil
}

// migrate defines what is not there; rows stay as they are.
func (s *Store) migrate(ctx context.Context, c *Context) error {
	db, err := s.DB(ctx, c)
	if err == nil {
		_, err = db.Query(ctx, schema+"RETURN true")
	}
	return err
}

// SchemaVersions counts the Contexts by the version of their tables, and names those behind SchemaVersion.
func (s *Store) SchemaVersions(ctx context.Context) (versions map[string]int, behind []string, err error) {
	all, err := s.Contexts(ctx)
	versions, behind = map[string]int{}, []string{}
	for i := range all {
		version, err := s.schemaOf(ctx, &all[i])
		if err != nil {
			return nil, nil, err
		}
		if versions[version]++; version != SchemaVersion {
			behind = append(behind, all[i].ID)
		}
	}
	return versions, behind, err
}
