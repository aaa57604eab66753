// Command kvstub is a placement driver and TiKV servers on loopback, for tests: the protocol and the transactions of
// TiKV over the mock store of its client. It has no raft and no storage engine of its own. It prints its addresses as
// one line of JSON, and ends when its standard input does.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/pingcap/kvproto/pkg/pdpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	mocklog "github.com/pingcap/log"
	"github.com/tikv/client-go/v2/testutils"
	etcdpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// maxMessage is the greatest size of a message, as TiKV has it by default.
const maxMessage = 10 << 20

// addresses is the output of the program.
type addresses struct {
	PD     string   `json:"pd"`
	Admin  string   `json:"admin"`
	Stores []string `json:"stores"`
}

func main() {
	stores := flag.Int("stores", 3, "number of stores")
	dir := flag.String("dir", "", "data directory (empty: memory)")
	pdAddr := flag.String("pd", "127.0.0.1:0", "address of the placement driver")
	ca := flag.String("ca", "", "with -cert and -key: TLS, for clients that this authority knows")
	cert := flag.String("cert", "", "certificate of the servers")
	key := flag.String("key", "", "its key")
	flag.Parse()
	mocklog.SetLevel(zap.ErrorLevel) // the mock store warns of every conflict, on standard output
	opts, scheme, err := security(*ca, *cert, *key)
	if err != nil {
		log.Fatal(err)
	}
	at, err := serve(*pdAddr, *dir, *stores, opts, scheme)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		log.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		log.Fatal(err)
	}
}

// security gives the options of servers that take TLS, and know their clients by it, where files are named.
func security(ca, cert, key string) ([]grpc.ServerOption, string, error) {
	if cert == "" {
		return nil, "http", nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, "", err
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, "", err
	}
	known := x509.NewCertPool()
	if !known.AppendCertsFromPEM(pem) {
		return nil, "", errors.New("no certificate in " + ca)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: known,
		ClientAuth: tls.RequireAndVerifyClientCert}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(c))}, "https", nil
}

// serve starts all servers. One region of all keys is there in the beginning.
func serve(pdAddr, dir string, stores int, opts []grpc.ServerOption, scheme string) (addresses, error) {
	cli, cl, _, err := testutils.NewMockTiKV(dir, nil)
	if err != nil {
		return addresses{}, err
	}
	opts = append(opts, grpc.MaxRecvMsgSize(maxMessage))
	flaw, driver, etcd := &flaws{}, newDriver(cl), &etcdKV{m: map[string]pair{}}
	var at addresses
	var machines []*machine
	ids, peers, region := cl.AllocIDs(stores), cl.AllocIDs(stores), cl.AllocID()
	for i := range stores {
		m := &machine{opts: opts}
		m.register = func(g *grpc.Server) {
			tikvpb.RegisterTikvServer(g, &store{addr: m.addr, cli: cli, flaw: flaw})
			healthpb.RegisterHealthServer(g, health.NewServer()) // the client asks it whether a store is alive
		}
		if err := m.start("127.0.0.1:0"); err != nil {
			return addresses{}, err
		}
		cl.AddStore(ids[i], m.addr)
		at.Stores = append(at.Stores, m.addr)
		machines = append(machines, m)
	}
	cl.Bootstrap(region, ids, peers, peers[0])
	pd := &machine{opts: opts}
	pd.register = func(g *grpc.Server) {
		driver.url = fmt.Sprintf("%s://%s", scheme, pd.addr)
		pdpb.RegisterPDServer(g, driver)
		etcdpb.RegisterClusterServer(g, &etcdCluster{url: driver.url})
		etcdpb.RegisterKVServer(g, etcd)
	}
	if err := pd.start(pdAddr); err != nil {
		return addresses{}, err
	}
	at.PD = pd.addr
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return addresses{}, err
	}
	at.Admin = l.Addr().String()
	boss := &boss{cl: cl, cli: cli, ids: ids, machines: machines, flaw: flaw, driver: driver, etcd: etcd}
	go func() { log.Fatal(http.Serve(l, boss.orders())) }()
	return at, nil
}

// machine is where one server listens. It can be switched off, with all its connections, and on again.
type machine struct {
	opts     []grpc.ServerOption
	register func(*grpc.Server)
	addr     string
	server   *grpc.Server // nil: it is off
}

// start listens at an address and serves.
func (m *machine) start(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	m.addr, m.server = l.Addr().String(), grpc.NewServer(m.opts...)
	m.register(m.server)
	server := m.server
	go func() {
		if err := server.Serve(l); err != nil {
			log.Fatal(err)
		}
	}()
	return nil
}

// stop closes the listener and all connections, as the end of the process does.
func (m *machine) stop() {
	m.server.Stop()
	m.server = nil
}
