package pgwire

import "context"

// sqlStatement reads a query of SQL; nil where the text at pos is none.
func (c *conn) sqlStatement(text string, pos int, word string) (*statement, int, error) {
	return nil, 0, nil
}

// databases are the names of the databases of the namespace in use.
func (c *conn) databases(ctx context.Context) ([]string, error) {
	res, err := c.session.Execute(ctx, "INFO FOR NS", nil)
	if err != nil {
		return nil, err
	}
	if res[0].Err != nil {
		return nil, res[0].Err
	}
	dbs, _ := res[0].Value.Object().Get("databases")
	if dbs.IsNullish() {
		return nil, nil
	}
	var names []string
	for _, f := range dbs.Object().Fields() {
		names = append(names, f.Name)
	}
	return names, nil
}

func readCopy(_ *conn, w *words) (work, error) { return nil, nil }
