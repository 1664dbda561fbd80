// Package tlsfiles makes the TLS configurations of the commands of rddp, and says at which
// addresses a command may listen without TLS.
//
// Both ends use TLS 1.3. Each end accepts the other end by its certificate:
//
//   - A client accepts a server whose certificate an authority of Client.CA has signed for the name
//     of the server. With Client.Pins it accepts only servers that have one of these keys. If it
//     has pins and neither authorities nor a name, the pin is enough.
//   - A server accepts every client, unless Server.CA or Server.Pins is set. Then the same holds
//     for the client's certificate, without a name.
//
// A pin is the SHA-256 hash of a public key, in the form that curl has for it. So a server with a
// certificate that it has made for itself ([Self]) needs no authority: its user tells the pin to
// the users of the clients.
//
// Certificates, keys and authorities are files. A file that has changed is loaded again for the
// next connection. A server gives no session tickets, so each connection is checked with the files
// as they are then. As long as it cannot be loaded, what was loaded before remains in use.
package tlsfiles
