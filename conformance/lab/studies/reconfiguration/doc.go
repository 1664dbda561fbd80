// Reconfiguration is a study: load balancers move servers between two web sites when bursts of
// requests come, and agree on it by memory that all share. `make study-reconfiguration` runs it,
// and docs/studies/reconfiguration.md has the outcome.
//
// # Parts
//
// The shared state is a file in memory, of words. Three processes use it: the nodes, which write
// the load of each server and read for which site it works; a program, which answers messages of
// the load balancers and may also be busy; and the load balancers, two for each site, in one
// process. A fourth kind of party, the requests, is a model: bursts go to one site and then to the
// other, on a schedule that all processes know, and each server works off so many requests for its
// site.
//
// # Moving a server
//
// A load balancer reads the state every few milliseconds. If its site has a backlog, it locks its
// site, and changes the site of a server that has no backlog, by compare-and-swap both. Then it
// adds one to the counter of each other load balancer of its site. One whose counter has changed
// waits until the load is balanced again.
//
// # Ways
//
// The state is read and changed by messages over TCP, which the program answers; by RDMA Reads and
// atomics that the program's process serves; or by those that a process beside it serves. The last
// way is also tried without locks and counters.
package main
