// Package filecopy copies files between two hosts by RDMA: the work behind `rddp serve` and `rddp cp`.
//
// # Roles
//
// A [Server], made by Listen, lends out the files below one directory. [Copy] is the client: it downloads
// from servers or uploads to one, many files or whole directories on one connection. A remote file is
// named rddp://HOST[:PORT]/PATH (see [ParseName]); every other name is local.
//
// # On the wire
//
// Both ends speak DDP from the first octet. The MPA private data says that they mean this protocol and
// which version of it, and how long the end waits for a silent peer; so the other end knows how often to say
// that it lives. Small messages go as Sends, one each; their formats are drawn at message. The
// contents of files go one-sided, in chunks:
//
//	download   the server reads a chunk into registered memory and announces it; the client fetches it
//	           by RDMA Read and releases it
//	upload     the server grants registered memory for a chunk; the client fills it by RDMA Write and
//	           says so in a Send, which is delivered behind the Write
//
// Up to window chunks are under way at a time, so the disks and the network work at once. The server
// chooses how long a chunk is, from minChunk to maxChunk octets, by how fast the last ones went: so
// an idle time-out does not hit a link that is only slow. Each end needs window × maxChunk octets
// of memory for a connection, whatever the size of the file. Each chunk has a registration of its own
// that ends before the server looks at what has come: a peer cannot change it any more.
//
// # What a file goes through
//
// The octets of a file NAME are collected in .NAME.rddp-part, which only its owner may read. Both ends
// compute the SHA-256 of the whole file. Only when the two agree, and the source has not changed
// meanwhile, is the part flushed to disk, gets the source's permission bits and modification time and is
// renamed to NAME: nobody ever sees half a file under that name. The new names themselves are flushed when
// the connection ends.
//
// A copy that is interrupted leaves the part and, in .NAME.rddp-part-of, what it is a part of. The next
// copy goes on from there if the source still has that size and modification time and the hash of
// the part is that of as much of the source. In the same way nothing is sent of a file whose destination
// has the size, time and hash of the source. Files of up to 1 MiB start over.
//
// # Limits
//
// Only regular files and directories are copied: with -r all else is left out and told. Owners, ACLs and
// extended attributes are not kept, holes are filled. Two processes do not write the same part: the second
// one is refused, except on systems without flock(2), where only the same process is.
//
// # Hostile peers
//
// A peer can end its own connection only. Every length and number it sends is checked before use, and it has
// to complete the startup and then to be heard from within time limits. Neither end reaches outside its directory, by
// os.Root: not with "..", and not through symbolic links, planted before or during the copy. What is served is
// served to whoever can connect: there is no authentication and no encryption.
//
// A server limits its connections at three points. Silent peers cannot keep clients out, because the oldest connection
// goes at the first two points:
//
//	no MPA Request yet           extsock.Config.MaxHalfOpen      the oldest is closed
//	no request of a client yet   1024                            the oldest is closed
//	a request has come           ServerConfig.MaxConns           the newest gets ErrTooManyClients for an answer
//
// A client that has asked for something keeps its place until it closes the connection or falls silent for
// ServerConfig.IdleTimeout. So as many peers as ServerConfig.MaxConns allows can still keep others out, if each of them
// asks for something and then says every now and then that it lives.
//
// A server cannot make a client ask for ever. Each answer that promises more entries of a directory brings new ones, a
// Copy keeps at most 2^20 entries and 1 GiB of their paths (ErrTooManyEntries), and after 5 files in a row that failed
// with their connection the other files of that server are not tried (ErrGivenUp). But a server may take as long as it
// likes for an answer, if it says meanwhile that it lives: its disk may be slow.
package filecopy
