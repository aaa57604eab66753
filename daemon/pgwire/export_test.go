package pgwire

import (
	"net"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/catalog"
	"github.com/nacredb/nacre/engine"
)

// ServeAs serves nc as if the client had signed in as session. Record users, whom the permissions of tables bind,
// cannot sign in here: the tests check by ServeAs that statements of SQL keep to permissions. The statements are bound
// to the definitions that the session named by definitions may see; these must not change.
func (s *Server) ServeAs(nc net.Conn, session, definitions *engine.Session) error {
	c := newConn(s, nc)
	defer c.close()
	c.user, c.session = "tester", definitions
	schema, err := c.readSchema(c.ctx)
	if err != nil {
		return err
	}
	c.session = session
	c.schema, c.catalog = schema, catalog.New(schema, c.looker())
	c.catalogOf, c.catalogRead = c.knowledge(), time.Now()
	c.srv.register(c)
	c.greet()
	if err := c.ready(); err != nil {
		return err
	}
	return c.run()
}
