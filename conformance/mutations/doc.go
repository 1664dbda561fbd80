// Package mutations plants faults in rddp, one at a time, and checks that the tests find them. Each
// fault removes a check from the code or inverts it. Then a test that names the requirement must
// fail. So the package shows whether the matrix of requirements and tests is true.
//
// `make mutations` plants the faults without changing any file of the tree. TestFaultsFit, an
// ordinary test, checks that the list fits the sources.
package mutations
