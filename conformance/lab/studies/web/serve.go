package main

import (
	"bytes"
	"context"
	"hash/crc32"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/extsock"
)

// The ways from the proxy to the web server.
const (
	wayTCP    = "tcp"
	wayStream = "stream" // the byte stream of an extended socket
)

// config returns the settings of an extended socket, or nil for TCP.
func config(way string) *extsock.Config {
	if way == wayTCP {
		return nil
	}
	return &extsock.Config{Startup: extsock.StartupRequire}
}

// filler is the byte of all pages.
const filler = 'x'

// work is the number of checksums of a dynamic page of 1 KiB.
const work = 5000

// serveWeb is the process of the web server. A request states the length of the page and the amount
// of work.
func serveWeb(_ context.Context, t trial) error {
	l, err := harness.Listen(config(t.Way))
	if err != nil {
		return err
	}
	page := bytes.Repeat([]byte{filler}, t.Size)
	length := strconv.Itoa(t.Size)
	handler := func(w http.ResponseWriter, _ *http.Request) {
		for range t.Work {
			crc32.ChecksumIEEE(page[:min(1<<10, len(page))])
		}
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(page) // if the client is gone, net/http ends the connection
	}
	go serve(&http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: time.Minute}, l)
	return harness.Serve(l.Addr())
}

// serveProxy is the process of the proxy.
func serveProxy(_ context.Context, t trial) error {
	l, err := harness.Listen(nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: t.Clients, DisableKeepAlives: !t.Kept, DisableCompression: true}
	if cfg := config(t.Way); cfg != nil {
		transport.DialContext = (&extsock.Dialer{Config: cfg}).DialContext
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: t.Address})
	proxy.Transport = transport
	go serve(&http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}, l)
	return harness.Serve(l.Addr())
}
