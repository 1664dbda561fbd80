package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// exchangeText sends a text and an end of stream from one end to the other.
func exchangeText(t *testing.T, from, to net.Conn) {
	t.Helper()
	for _, c := range []net.Conn{from, to} {
		c.SetDeadline(prototest.Deadline(t))
	}
	io.WriteString(from, "hello")
	from.(interface{ CloseWrite() error }).CloseWrite()
	if got, err := io.ReadAll(to); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

// An unchanged web server and web client talk through two proxies.
func TestHTTP(t *testing.T) {
	const requests, clients = 1000, 8
	large := random(7, 16<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			w.Write(large)
		case "/echo":
			io.Copy(w, r.Body)
		default:
			fmt.Fprintf(w, "this is %s", r.URL.Path)
		}
	}))
	defer server.Close()
	entrance, exit := tunnel(t, strings.TrimPrefix(server.URL, "http://"), Config{})
	var dialed atomic.Int64 // connections to the entrance
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			dialed.Add(1)
		}
		return c, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: clients}, Timeout: prototest.Patience(t)}
	url := "http://" + entrance.Addr().Address
	body := func(r *http.Response, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		defer r.Body.Close()
		return io.ReadAll(r.Body)
	}
	var workers sync.WaitGroup
	for w := range clients {
		workers.Go(func() {
			for i := w; i < requests; i += clients {
				want := fmt.Sprintf("this is /%d", i)
				if got, err := body(client.Get(fmt.Sprintf("%s/%d", url, i))); err != nil || string(got) != want {
					t.Errorf("request %d: %q, %v", i, got, err)
				}
			}
		})
	}
	workers.Wait()
	if got, err := body(client.Get(url + "/large")); err != nil || !bytes.Equal(got, large) {
		t.Errorf("download: %d bytes of %d, %v", len(got), len(large), err)
	}
	if got, err := body(client.Post(url+"/echo", "", bytes.NewReader(large))); err != nil || !bytes.Equal(got, large) {
		t.Errorf("upload: %d bytes of %d, %v", len(got), len(large), err)
	}
	// Without keep-alive, each request uses its own connection.
	single := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: prototest.Patience(t)}
	for i := range 50 {
		if got, err := body(single.Get(url + "/x")); err != nil || string(got) != "this is /x" {
			t.Errorf("request %d without keep-alive: %q, %v", i, got, err)
		}
	}
	client.CloseIdleConnections()
	server.CloseClientConnections()
	for range dialed.Load() {
		orderly(t, entrance, exit)
	}
}
