//go:build amd64 || arm64

package run

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/examples/kvcache"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/verbs"
)

func init() { programs["keyvalue"] = keyValueProgram }

// keyValueProgram serves a store to two clients. Its table is memory of the device. With "mixed",
// the second client runs in process.
func keyValueProgram(args []string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientLimit)
	defer cancel()
	b := new(verbs.Backend)
	defer func() { err = errors.Join(err, b.Close()) }()
	device := extsock.Config{Backend: b}
	configs := []*extsock.Config{&device, &device}
	if args[0] == "mixed" {
		configs[1] = nil
	}
	server, err := kvcache.NewServer(16, &device)
	if err != nil {
		return err
	}
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	before := extsock.TotalStats().OnDevice
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	var clients []*kvcache.Client
	for _, cfg := range configs {
		c, err := kvcache.Dial(ctx, l.Addr().String(), cfg)
		if err != nil {
			return err
		}
		defer c.Close()
		clients = append(clients, c)
	}
	if n := extsock.TotalStats().OnDevice - before; args[0] != "mixed" && n != 4 || n < 3 {
		return fmt.Errorf("%d ends are on the device", n)
	}
	for i := range 50 {
		key, want := fmt.Sprint("key ", i%10), fmt.Sprint("value ", i)
		if err := clients[i%2].Set(ctx, key, []byte(want)); err != nil {
			return err
		}
		for _, c := range clients {
			if got, err := c.Get(ctx, key); string(got) != want || err != nil {
				return fmt.Errorf("GET %d = %q, %w", i, got, err)
			}
		}
	}
	if err := errors.Join(server.Shutdown(ctx), <-served); err != nil {
		return err
	}
	cancel()
	for _, c := range clients {
		if v, err := c.Get(ctx, "key 1"); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("a GET without a server = %q, %w", v, err)
		}
	}
	return nil
}

// TestKeyValue runs the store of the examples with its table on either kind of device.
func TestKeyValue(t *testing.T) {
	for kind, clients := range socketKinds {
		t.Run(kind, func(t *testing.T) {
			c := under(performance(t, "keyvalue", clients)...)
			c.Args[0] = kind
			if err := c.Run(); err != nil {
				t.Error(err)
			}
		})
	}
}
