// Reconfiguration is a study: load balancers move servers between two web sites when bursts of
// requests arrive, and coordinate by shared memory. `make study-reconfiguration` runs it, and
// docs/studies/reconfiguration.md has the results.
//
// # Parts
//
// The shared state is a file of words in memory. Three processes use it: the nodes, which write the
// load of each server and read for which site it works; a program, which answers messages of the
// load balancers and may also be busy; and the load balancers, two for each site, in one process.
// The requests are a model: bursts go to one site and then to the other, on a schedule that all
// processes know, and each server handles a fixed rate of requests for its site.
//
// # Moving a server
//
// A load balancer reads the state every few milliseconds. If its site has a backlog, it locks its
// site and changes the site of a server that has no backlog, both by compare-and-swap. Then it adds
// one to the counter of each other load balancer of its site. A load balancer whose counter has
// changed waits until the load is balanced again.
//
// # Ways
//
// The state is read and changed by messages over TCP, which the program answers; by RDMA Reads and
// atomics that the program's process serves; or by RDMA Reads and atomics that another process
// serves. The last way is also tried without locks and counters.
package main
