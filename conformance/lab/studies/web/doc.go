// Web is a study: clients get pages from a proxy, which gets them from a web server over TCP or
// over extended sockets. `make study-web` runs it, and docs/studies/web.md has the results.
//
// # Parts
//
// The web server is a process with its own CPU. It has static pages of any size, and dynamic ones
// that take time to compute. The proxy and all clients are two more processes, which share the
// other CPU. Clients talk to the proxy over TCP, with a connection each that stays open. The proxy
// is net/http's reverse proxy. The trials vary its connections to the web server: TCP or the byte
// stream of an extended socket, kept open or made for each request.
//
// # Checks
//
// A client checks the status and each byte of a response.
package main
