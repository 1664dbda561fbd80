package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestMain is also the program of the processes that a trial starts.
func TestMain(m *testing.M) {
	if harness.IsPart() {
		main()
		return
	}
	testmode.Hurry()
	nopanic.Exit(m.Run())
}

// TestAllPagesArrive: each client gets each page complete, and checks it itself.
func TestAllPagesArrive(t *testing.T) {
	for _, way := range ways {
		for _, kept := range []bool{true, false} {
			const clients, count = 3, 4
			o, err := trial{Way: way, Kept: kept, Size: 100_000, Work: 10, Clients: clients, Count: count}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if o.Responses != clients*count {
				t.Errorf("%s, kept %v: %d responses", way, kept, o.Responses)
			}
		}
	}
}

// TestGet: a client finds each fault of a response.
func TestGet(t *testing.T) {
	const size = 10
	var status int
	var page string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(page))
	}))
	defer s.Close()
	for _, test := range []struct {
		status int
		page   string
		want   error
	}{
		{http.StatusOK, strings.Repeat("x", size), nil},
		{http.StatusBadGateway, strings.Repeat("x", size), errResponse},
		{http.StatusOK, strings.Repeat("x", size-1), errResponse},
		{http.StatusOK, strings.Repeat("x", size-1) + "y", errResponse},
	} {
		status, page = test.status, test.page
		trial := trial{Size: size, Address: s.Listener.Addr().String()}
		if err := get(s.Client(), &trial, make([]byte, size)); !errors.Is(err, test.want) {
			t.Errorf("%d %s: %v, want %v", test.status, test.page, err, test.want)
		}
	}
}
