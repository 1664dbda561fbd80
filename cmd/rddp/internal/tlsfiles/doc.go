// Package tlsfiles makes the TLS configurations of rddp's commands, and checks at which addresses a
// command may listen without TLS.
//
// Both ends use TLS 1.3. Each end checks the other's certificate:
//
//   - A client accepts a server whose certificate an authority in Client.CA has signed for the
//     server's name. With Client.Pins it accepts only servers with one of these keys. If it has
//     pins but neither authorities nor a name, the pin is enough.
//   - A server accepts every client, unless Server.CA or Server.Pins is set. Then it checks the
//     client's certificate in the same way, but without a name.
//
// A pin is the SHA-256 hash of a public key, in the format of curl. So a server with a self-made
// certificate ([Self]) needs no authority: its user passes the pin on to the users of the clients.
//
// Certificates, keys and authorities are files. A changed file is loaded again for the next
// connection. If it cannot be loaded, the previous content remains in use. A server issues no
// session tickets, so each connection is checked with the current files.
package tlsfiles
