// Striped is a study: a file is striped over I/O servers, as in PVFS, and clients read and write
// lists of its pieces. `make study-striped` runs it, and docs/studies/striped.md has the results.
//
// # Parts
//
// Each I/O server is a process with one file in memory, which holds every n-th stripe of the
// striped file. All clients are one process. Each client has a connection to each server. An
// operation names pieces of the striped file and pieces of the client's memory, which are not
// adjacent: bytes are gathered from and scattered to them.
//
// # Ways
//
// Over TCP and over the byte stream of an extended socket, a client sends each server the list of
// its extents. The server reads them from its file, and answers with the bytes of all of them; for
// a write the client sends the bytes after the list, and the server confirms.
//
// One-sided, the server's file is registered memory (ddp.Domain.RegisterMemory takes an os.File). A
// client reads each extent by an RDMA Read into the pieces of its memory, and writes each extent by
// one RDMA Write that gathers them. A last Read follows the Writes, so that they have arrived when
// it completes. The server's program only accepts connections.
//
// # Checks
//
// Each client reads back what it wrote before the measurement and after it, and compares each byte.
// Clients write different pieces.
package main
