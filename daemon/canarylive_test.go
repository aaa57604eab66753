package daemon_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/nacredb/nacre/internal/pb/rpcpb"
)

// wireLive are live queries of the test of canaries; {F} and {C} are those of wireParts.
var wireLive = []string{"LIVE SELECT * FROM {N}", "LIVE SELECT * FROM {N}", "LIVE SELECT DIFF FROM {N}", "LIVE SELECT {F} AS x FROM {N}",
	"LIVE SELECT VALUE {F} FROM {N}", "LIVE SELECT * FROM {N} WHERE {C}", "LIVE SELECT *, {F} AS x, $before AS b, $after AS a FROM {N}",
	"LIVE SELECT * FROM {N} FETCH out, in, owner"}

var wireTables = []string{"p", "p", "q", "e", "hid", "user", "log"}

// wireChanges are changes of an owner: of hidden rows, of hidden fields of rows that are seen, and of what is seen.
const wireChanges = `UPDATE hid:1 SET c = '%[1]s'; CREATE hid:7 SET c = '%[1]s'; DELETE hid:7; UPDATE user:9 SET pass = '%[1]s2';
	UPDATE p:1 SET secret = 'b%[1]s'; UPDATE p:1 SET obj.secret = '%[1]s', items[0].secret = '%[1]s'; UPDATE p:1 SET note = 'seen';
	UPDATE p:2 SET c = '%[1]s2'; UPDATE q:1 SET secret = 'c%[1]s'; UPDATE q:1 SET note = 'seen'; UPDATE q:2 SET c = '%[1]s2';
	UPDATE e:1 SET secret = 'd%[1]s'; UPDATE e:1 SET note = 'seen'; UPDATE e:2 SET c = '%[1]s2'; CREATE log SET note = 'seen';
	DELETE e:2; DELETE p:2; DELETE q:2; DELETE p:1; DELETE q:1`

// wireEar follows live queries over gRPC by the rights of a low principal.
type wireEar struct {
	cancel  context.CancelFunc
	streams sync.WaitGroup

	mu     sync.Mutex // guards the rest
	asked  []string
	got    []byte // every byte of frames and statuses
	heard  int    // notifications
	failed error  // of protobuf
}

// listen subscribes to some live queries over a connection.
func (c *rpcClient) listen(r *rand.Rand, headers []string, n int) *wireEar {
	ctx, cancel := context.WithCancel(c.s.t.Context())
	l := &wireEar{cancel: cancel}
	for _, h := range headers {
		name, v, _ := strings.Cut(h, ": ")
		ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(name), v)
	}
	for range n {
		text := strings.ReplaceAll(wireLive[r.IntN(len(wireLive))], "{N}", wireTables[r.IntN(len(wireTables))])
		text = strings.ReplaceAll(text, "{C}", wireParts["cond"][r.IntN(len(wireParts["cond"]))])
		text = strings.ReplaceAll(text, "{F}", wireParts["field"][r.IntN(len(wireParts["field"]))])
		stream, err := c.Subscribe(ctx, &rpcpb.SubscribeRequest{SubscribeTo: &rpcpb.SubscribeRequest_Query{
			Query: &rpcpb.LiveQueryRegistration{Query: text}}})
		if err == nil {
			err = l.take(stream) // its begin: from now on it hears all
		}
		l.mu.Lock()
		l.asked = append(l.asked, text)
		l.mu.Unlock()
		if err != nil {
			l.end(err)
			continue
		}
		l.streams.Go(func() {
			for err == nil {
				err = l.take(stream)
			}
			l.end(err)
		})
	}
	return l
}

// take reads a frame.
func (l *wireEar) take(stream subscription) error {
	f, err := stream.Recv()
	if err != nil {
		return err
	}
	b, bad := proto.Marshal(f)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, b...)
	if f.GetNotification() != nil {
		l.heard++
	}
	if bad != nil {
		l.failed = bad
	}
	return nil
}

// end keeps the status of a stream.
func (l *wireEar) end(err error) {
	b, bad := proto.Marshal(status.Convert(err).Proto())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, b...)
	if bad != nil {
		l.failed = bad
	}
}

// done waits until all streams have ended, which the end of their tables brings about, and gives what came.
func (l *wireEar) done() (got string, asked []string, heard int, err error) {
	late := time.AfterFunc(30*time.Second, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failed = fmt.Errorf("some of %q have not ended with their namespace", l.asked)
		l.cancel()
	})
	l.streams.Wait()
	late.Stop()
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.got), l.asked, l.heard, l.failed
}
