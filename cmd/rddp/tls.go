package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/tlsfiles"
)

// A tlsRole is the role of a command in TLS.
type tlsRole int

const (
	tlsServer tlsRole = 1 << iota
	tlsClient
)

// tlsFlags returns the TLS flags of a command. If roles contains both roles, the command's other
// flags select one.
func tlsFlags(roles tlsRole) []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "tls-cert", Usage: "TLS: the certificate of this end, a PEM `FILE`; loaded again when it changes"},
		&cli.StringFlag{Name: "tls-key", Usage: "TLS: the key of --tls-cert, a PEM `FILE`"},
		&cli.StringSliceFlag{Name: "tls-pin", Usage: "TLS: the peer must have the key with this `PIN`; may be repeated"},
	}
	if roles&tlsServer != 0 {
		flags = append(flags,
			&cli.BoolFlag{Name: "tls-self", Usage: "server: TLS with a certificate made now; logs the --tls-pin for clients"},
			&cli.StringFlag{Name: "tls-client-ca", Usage: "server: clients must have a certificate of an authority in this PEM `FILE`"},
			&cli.BoolFlag{Name: "insecure", Usage: "server: listen beyond loopback without TLS"})
	}
	if roles&tlsClient != 0 {
		flags = append(flags,
			&cli.StringFlag{Name: "tls-ca", Usage: "client: TLS; the server must have a certificate of an authority in this PEM `FILE`"},
			&cli.StringFlag{Name: "tls-server-name", Usage: "client: TLS; the server's certificate must have this `NAME` (default: the host of the address)"})
	}
	return flags
}

// tlsHelp is the part of a command's description about TLS.
const tlsHelp = "A server listens at loopback unless told otherwise, and beyond only with TLS or --insecure. With TLS:\n\n" +
	"   far$  rddp %s --tls-self %s\n" +
	"   near$ rddp %s --tls-pin sha256//... %s\n\n" +
	"The server logs the pin. It lets every client in that does not need to have a certificate: --tls-client-ca,\n" +
	"or --tls-pin at the server, says which clients must have one."

// flagsFor returns a *usageError if one of the flags others is set, which only the other role uses.
// It also does if a TLS flag is empty: ignoring it would mean less security than the user asked
// for.
func flagsFor(c *cli.Command, role string, others ...string) error {
	for _, name := range others {
		if c.IsSet(name) {
			return usage("--%s: this end is the TLS %s", name, role)
		}
	}
	for _, name := range []string{"tls-cert", "tls-key", "tls-ca", "tls-client-ca", "tls-server-name"} {
		if c.IsSet(name) && c.String(name) == "" {
			return usage("--%s is empty", name)
		}
	}
	if c.IsSet("tls-cert") != c.IsSet("tls-key") {
		return usage("--tls-cert and --tls-key go together")
	}
	return nil
}

func pins(c *cli.Command) (all []tlsfiles.Pin, err error) {
	for _, text := range c.StringSlice("tls-pin") {
		p, err := tlsfiles.ParsePin(text)
		if err != nil {
			return nil, usage("--tls-pin: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}

// tlsFailed returns a function that logs why changed files cannot be loaded.
func tlsFailed(c *cli.Command) func(error) {
	return func(err error) { newLog(c).Warn(err.Error()) }
}

// serverTLS returns the TLS configuration of a command that listens at address, or nil without TLS.
// It logs the pin of a certificate that it makes. Other hosts can connect to an address without a
// host, including "".
func serverTLS(ctx context.Context, c *cli.Command, address string) (*tls.Config, error) {
	if err := flagsFor(c, "server", clientOnly...); err != nil {
		return nil, err
	}
	cfg, err := serverConfig(c)
	if cfg == nil && err == nil {
		err = checkListen(ctx, c, address, ofServer)
	}
	return cfg, err
}

// serverConfig is serverTLS for a command that may be a client too, and that checks its addresses
// itself.
func serverConfig(c *cli.Command) (*tls.Config, error) {
	s := tlsfiles.Server{
		Identity: tlsfiles.Identity{Cert: c.String("tls-cert"), Key: c.String("tls-key")}, CA: c.String("tls-client-ca"), Failed: tlsFailed(c),
	}
	var err error
	if s.Pins, err = pins(c); err != nil {
		return nil, err
	}
	switch isOn := s.Cert != "" || c.Bool("tls-self"); {
	case s.Cert != "" && c.Bool("tls-self"):
		return nil, usage("give either --tls-self or --tls-cert")
	case !isOn && (s.CA != "" || len(s.Pins) > 0):
		return nil, usage("--tls-client-ca and --tls-pin need --tls-cert or --tls-self")
	case !isOn:
		return nil, nil
	}
	if c.Bool("tls-self") {
		own, pin, err := tlsfiles.Self()
		if err != nil {
			return nil, err
		}
		s.Own = own
		defer newLog(c).Info(fmt.Sprintf("for clients: --tls-pin %v", pin))
	}
	return s.Config()
}

// The options that allow a command to listen: for its own server, for a listener that cannot use
// TLS, and for its HTTP server.
const (
	ofServer = "--tls-self, or --tls-cert and --tls-key, or --insecure"
	ofPlain  = "an address of loopback, or --insecure"
	ofHTTP   = ofPlain + ", or, for a TLS server, its flags"
)

// checkListen returns a *usageError if other hosts could connect without TLS to a listener at
// address, and the command line does not allow that. remedy names the options that would.
func checkListen(ctx context.Context, c *cli.Command, address, remedy string) error {
	if c.Bool("insecure") {
		return nil
	}
	err := tlsfiles.CheckListen(ctx, address)
	if !errors.Is(err, tlsfiles.ErrBeyond) {
		return err
	}
	return usage("listening at %s: %w: give %s", address, err, remedy)
}

// serverOnly are the TLS flags that only a server has, and clientOnly those that only a client has.
var (
	serverOnly = []string{"tls-self", "tls-client-ca", "insecure"}
	clientOnly = []string{"tls-ca", "tls-server-name"}
)

// clientTLS returns a function that returns the TLS configuration for the next connection of a
// command, or nil without TLS. It returns a *usageError if one of the flags others is set.
func clientTLS(c *cli.Command, others ...string) (func() *tls.Config, error) {
	if err := flagsFor(c, "client", others...); err != nil {
		return nil, err
	}
	s := tlsfiles.Client{
		Identity: tlsfiles.Identity{Cert: c.String("tls-cert"), Key: c.String("tls-key")},
		CA:       c.String("tls-ca"), Name: c.String("tls-server-name"), Failed: tlsFailed(c),
	}
	var err error
	if s.Pins, err = pins(c); err != nil {
		return nil, err
	}
	switch {
	case s.CA != "" || s.Name != "" || len(s.Pins) > 0:
		return s.Config()
	case s.Cert != "":
		return nil, usage("--tls-cert needs --tls-ca, --tls-pin or --tls-server-name, which say what server to trust")
	}
	return func() *tls.Config { return nil }, nil
}
