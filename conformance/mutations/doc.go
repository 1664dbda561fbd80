// Package mutations plants faults in rddp, one at a time, and checks that the tests find them. Each
// fault removes a check from the code or inverts it. Then a test that names the requirement must
// fail. So the package shows whether the matrix of requirements and tests is true.
//
// `make mutations` plants the faults without changing any file of the tree. Two ordinary tests
// check the list: TestFaultsFit that it fits the sources, and TestFaultsCompile that each fault
// compiles.
package mutations
