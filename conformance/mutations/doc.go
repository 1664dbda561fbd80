// Package mutations plants faults in rddp, one at a time, and has its tests find them: each takes a check out of the code, or
// turns it, and then a test that names the requirement must fail. So it says whether the matrix of requirements and
// tests is true.
//
// `make mutations` does it, without a change to any file of the tree. TestFaultsFit, an ordinary test, keeps the list up to date.
package mutations
