// Package filecopy copies files between two hosts by RDMA. It implements `rddp serve` and `rddp
// cp`.
//
// # Roles
//
// A [Server], made by Listen, serves the files below one directory. [Copy] is the client. It
// downloads from servers or uploads to one, and copies many files or whole directories on one
// connection. A remote file has a name of the form rddp://HOST[:PORT]/PATH (see [ParseName]); every
// other name is local.
//
// # On the wire
//
// Both ends speak DDP from the first byte. The MPA private data identifies this protocol and its
// version. It also says how long the end waits for a silent peer, so the other end knows how often
// to report that it is alive. Each small message is one Send; see the type message for the formats.
// The contents of files travel one-sided, in chunks:
//
//	download   the server reads a chunk into registered memory and announces it; the client fetches it
//	           by RDMA Read and releases it
//	upload     the server grants registered memory for a chunk; the client fills it by RDMA Write and
//	           says so in a Send, which is delivered after the Write
//
// Up to window chunks are in progress at a time, so disks and network work in parallel. The server
// chooses the length of a chunk, from minChunk to maxChunk bytes, by the speed of the last chunks.
// So the idle timeout does not end a connection over a slow link. Each end needs window × maxChunk
// bytes of memory for a connection, whatever the size of the file. Each chunk has its own
// registration. The registration ends before the server looks at the data, so a peer cannot change
// the data any more.
//
// # What happens to a file
//
// The bytes of a file NAME are collected in .NAME.rddp-part, which only its owner may read. Both
// ends compute the SHA-256 of the whole file. If the sums agree and the source has not changed in
// the meantime, the part is flushed to disk, gets the source's permission bits and modification
// time, and is renamed to NAME. So no program ever sees half a file under that name. The directory
// entries are flushed when the connection ends. If NAME is a symbolic link, it is replaced. But if
// the user names a local link as the destination, the link stays, and the file that it leads to is
// replaced. A server always replaces links, because they may lead outside the directory.
//
// An interrupted copy leaves the part and, in .NAME.rddp-part-of, a record of the source. The next
// copy continues if the source still has that size and modification time, and if the hash of the
// part equals the hash of that much of the source. If the destination has the size, time and hash
// of the source, no content is sent. Files of up to 1 MiB start over.
//
// Other users may be able to write the directory of a part, and know its name. Copy therefore
// creates part and note as new files, and continues only a part that belongs to its own user, has
// one link, and grants others no access. It removes anything else with these names, without
// following or opening it. On a file system without owners and permission bits, an interrupted file
// starts over.
//
// # What happens to a directory
//
// A new directory is accessible only to its owner, and has a note, .rddp-part-of, until it is
// complete. Then the note is removed, and the directory gets the source's permission bits and
// modification time. So a later copy recognizes an unfinished directory, and finishes it. A note
// counts only if it has the owner and the bits of a new file of the user in that directory. A
// directory that existed before keeps its attributes. A symbolic link does not count as a
// directory, except in the names that the user gives.
//
// Copy first makes a plan of everything that it copies. If two sources would become one file,
// nothing is copied. If names differ only in case and the destination does not distinguish them,
// one is copied and the other fails.
//
// # Limits
//
// Only regular files and directories are copied. With -r, everything else is skipped and reported,
// and so is everything with the name of a part or a note. Owners, ACLs and extended attributes are
// not kept, and holes are filled. Two processes cannot write the same part: the second one is
// refused. On systems without flock(2), only a second copy in the same process is refused.
//
// # Hostile peers
//
// A peer can end only its own connection. Each end checks every length and number of its peer
// before use. The peer must complete startup and send its first request within time limits. Neither
// end reaches outside its directory, because both use os.Root: not with "..", and not through
// symbolic links, whether they exist before the copy or appear during it. Every host that can
// connect can read the served files, unless the TLS configuration in ServerConfig.Socket admits
// only some.
//
// A server limits its connections at three points. Silent peers cannot keep clients out: at the
// first two points, the server closes the oldest connection of the address with the most:
//
//	no MPA Request yet            extsock.Config.MaxHalfOpen      that one is closed
//	no request of a client yet    1024                            that one is closed
//	a request has arrived         ServerConfig.MaxConns           the newest gets the answer ErrTooManyClients,
//	                                                              or a place that was lent
//
// A client that has sent a request keeps its place until it closes the connection or is silent for
// ServerConfig.IdleTimeout. But the clients of one address can keep only half of the places.
// Further places are lent: the last one is closed when a client of an address with fewer places
// needs it. For IPv6 the /64 counts as the address.
//
// A server cannot make a client ask forever. Each answer that promises more entries of a directory
// must bring new ones. A Copy keeps at most 2^20 entries and 1 GiB of their paths
// (ErrTooManyEntries). After 5 consecutive files that failed with their connection, Copy does not
// try the other files of that server (ErrGivenUp). But a server may take any time for an answer
// while it reports that it is alive, because its disk may be slow.
package filecopy
