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
	"github.com/tikv/client-go/v2/testutils"
	etcdpb "go.etcd.io/etcd/api/v3/etcdserverpb"
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
	listen := func(addr string, register func(*grpc.Server, string)) (string, error) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return "", err
		}
		g := grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(maxMessage))...)
		register(g, l.Addr().String())
		go func() { log.Fatal(g.Serve(l)) }()
		return l.Addr().String(), nil
	}
	flaw, driver := &flaws{}, &pdServer{cluster: cl}
	var at addresses
	ids, peers, region := cl.AllocIDs(stores), cl.AllocIDs(stores), cl.AllocID()
	for i := range stores {
		addr, err := listen("127.0.0.1:0", func(g *grpc.Server, addr string) {
			tikvpb.RegisterTikvServer(g, &store{addr: addr, cli: cli, flaw: flaw})
			healthpb.RegisterHealthServer(g, health.NewServer()) // the client asks it whether a store is alive
		})
		if err != nil {
			return addresses{}, err
		}
		cl.AddStore(ids[i], addr)
		at.Stores = append(at.Stores, addr)
	}
	cl.Bootstrap(region, ids, peers, peers[0])
	at.PD, err = listen(pdAddr, func(g *grpc.Server, addr string) {
		url := fmt.Sprintf("%s://%s", scheme, addr)
		driver.url = url
		pdpb.RegisterPDServer(g, driver)
		etcdpb.RegisterClusterServer(g, &etcdCluster{url: url})
		etcdpb.RegisterKVServer(g, &etcdKV{m: map[string][]byte{}})
	})
	if err != nil {
		return addresses{}, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return addresses{}, err
	}
	at.Admin = l.Addr().String()
	go func() { log.Fatal(http.Serve(l, admin(cl, ids, flaw, driver))) }()
	return at, nil
}
