// Package filecopy copies files between two hosts by RDMA. It is the work behind `rddp serve` and
// `rddp cp`.
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
// to report that it is alive. Small messages are Sends, one for each message; the type message
// draws their formats. The contents of files travel one-sided, in chunks:
//
//	download   the server reads a chunk into registered memory and announces it; the client fetches it
//	           by RDMA Read and releases it
//	upload     the server grants registered memory for a chunk; the client fills it by RDMA Write and
//	           says so in a Send, which is delivered after the Write
//
// Up to window chunks are under way at a time, so the disks and the network work at once. The
// server chooses the length of a chunk, from minChunk to maxChunk bytes, by the speed of the last
// chunks. So the idle timeout does not end a connection over a slow link. Each end needs window ×
// maxChunk bytes of memory for a connection, whatever the size of the file. Each chunk has its own
// registration. The registration ends before the server looks at the data, so a peer cannot change
// the data any more.
//
// # What happens to a file
//
// The bytes of a file NAME are collected in .NAME.rddp-part, which only its owner may read. Both
// ends compute the SHA-256 of the whole file. If the two agree, and the source has not changed
// meanwhile, the part is flushed to disk, gets the source's permission bits and modification time,
// and is renamed to NAME. So no program ever sees half a file under that name. The directory
// entries are flushed when the connection ends. If NAME is a symbolic link, it is replaced. But a
// local link that the user names as the destination stays, and the file that it leads to is
// replaced. A server replaces a link in any case, because it may lead outside of the directory.
//
// An interrupted copy leaves the part and, in .NAME.rddp-part-of, a record of the source. The next
// copy continues if the source still has that size and modification time, and if the hash of the
// part equals the hash of that much of the source. If the destination has the size, time and hash
// of the source, nothing of the file is sent. Files of up to 1 MiB start over.
//
// Other users may be able to write the directory of a part, and know its name. Copy therefore makes
// part and note as new files, and continues only a part that belongs to its own user, has one name,
// and gives others no rights. Whatever else has these names, it removes without following or
// opening it. On a file system without owners and permission bits, an interrupted file starts over.
//
// # What happens to a directory
//
// A directory that a copy makes is for its owner only, and has a note, .rddp-part-of, until
// everything below it is there. Then the note goes, and the directory gets the source's permission
// bits and modification time. So a later copy knows an unfinished directory, and finishes it. A
// note counts only if it has the owner and the bits of a new file of the user's in that directory.
// A directory that was there before keeps its attributes. A symbolic link is not taken for a
// directory, except in the names that the user gives.
//
// Copy first makes a plan of all that it copies, and then begins. If two sources would become one
// file, nothing is copied. If names differ by case only and the destination does not distinguish
// them, one is copied and the other one fails.
//
// # Limits
//
// Only regular files and directories are copied. With -r, everything else is skipped and reported,
// and so are names of parts and notes, whatever has them. Owners, ACLs and extended attributes are
// not kept, and holes are filled. Two processes cannot write the same part: the second one is
// refused. On systems without flock(2), only a second copy in the same process is refused.
//
// # Hostile peers
//
// A peer can end only its own connection. Each end checks every length and number of its peer
// before use. The peer must complete startup and send its first request within time limits. Neither
// end reaches outside its directory, because both use os.Root: not with "..", and not through
// symbolic links, whether they exist before the copy or appear during it. Every host that can
// connect can read the served files, unless the TLS of ServerConfig.Socket lets only some in.
//
// A server limits its connections at three points. Silent peers cannot keep clients out, because
// the oldest connection of the address with most of them is closed at the first two points:
//
//	no MPA Request yet            extsock.Config.MaxHalfOpen      that one is closed
//	no request of a client yet    1024                            that one is closed
//	a request has arrived         ServerConfig.MaxConns           the newest gets the answer ErrTooManyClients,
//	                                                              or a place that was lent
//
// A client that has sent a request keeps its place until it closes the connection or is silent for
// ServerConfig.IdleTimeout. But the clients of one address can hold only as many places as they
// leave free, half of them. What they have beyond that is lent: the last one is closed when a
// client of an address with fewer needs it. For IPv6 the /64 counts as the address.
//
// A server cannot make a client ask forever. Each answer that promises more entries of a directory
// must bring new ones. A Copy keeps at most 2^20 entries and 1 GiB of their paths
// (ErrTooManyEntries). After 5 files in a row that failed with their connection, Copy does not try
// the other files of that server (ErrGivenUp). But a server may take any time for an answer if it
// reports meanwhile that it is alive, because its disk may be slow.
package filecopy
