// Web is a study: clients get pages from a proxy, which gets them from a web server over TCP or
// over extended sockets. `make study-web` runs it, and docs/studies/web.md has the outcome.
//
// # Parts
//
// The web server is a process with a CPU. It has static pages of any size, and dynamic ones that
// take it time to compute. The proxy and all clients are two more processes, which share the other
// CPU. Clients talk to the proxy over TCP, with a connection each that stays open. The proxy is
// net/http's reverse proxy. Its connections to the web server are what the trials vary: TCP or the
// byte stream of an extended socket, and kept open or made for each request.
//
// # Checks
//
// A client looks at the status and at each byte of a response.
package main
